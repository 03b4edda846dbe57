"""What the API refuses, as the error of its kind; and having no API at all."""

from __future__ import annotations

import msgspec

from matins.domain.values.errors import (
    ConflictError,
    InvalidInputError,
    MatinsError,
    NotFoundError,
    Problem,
    ProblemDetails,
    ScheduleError,
    UnauthorizedError,
    UnavailableError,
)

_PREFIX = "urn:matins:problem:"
_KINDS: dict[str, type[MatinsError]] = {
    kind.code: kind
    for kind in (
        ConflictError,
        NotFoundError,
        ScheduleError,
        UnauthorizedError,
        UnavailableError,
    )
}
_FOREIGN = "is it the address of a Matins API?"
_SHOWN_MAX = 200


class UnreachableError(UnavailableError):
    """No connection could be made, so nothing was sent and nothing has changed."""

    code = "unreachable"
    title = "The API can't be reached"


def refusal(status: int, body: bytes, call: str) -> MatinsError:
    """Return the error that an answer tells of."""
    try:
        details = msgspec.json.decode(body, type=ProblemDetails)
    except (msgspec.DecodeError, UnicodeDecodeError):
        excerpt = body[:_SHOWN_MAX].decode(errors="replace").strip()
        kind = UnavailableError if status in (502, 503, 504) else MatinsError
        return kind(f"{call} gave HTTP {status}: {excerpt}; {_FOREIGN}")
    code = details.type.removeprefix(_PREFIX)
    if code == InvalidInputError.code:
        return InvalidInputError(details.errors or [Problem("", details.detail)])
    if code in _KINDS:
        return _KINDS[code](details.detail or details.title)
    detail = f"{details.detail or details.title} {details.instance or ''}".strip()
    return MatinsError(f"{call} gave HTTP {status}: {detail or _FOREIGN}")
