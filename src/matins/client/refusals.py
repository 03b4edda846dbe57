"""What the API refuses, as the error of its kind; and having no answer at all."""

from __future__ import annotations

import msgspec

from matins.domain.errors import (
    ConflictError,
    InvalidInputError,
    MatinsError,
    NotFoundError,
    Problem,
    UnauthorizedError,
    UnavailableError,
)

_PREFIX = "urn:matins:problem:"
_KINDS: dict[str, type[MatinsError]] = {
    kind.code: kind for kind in (ConflictError, NotFoundError, UnauthorizedError, UnavailableError)
}
_SHOWN_MAX = 200


class UnreachableError(UnavailableError):
    """There was no answer, or none of Matins: nobody knows whether the call was carried out."""

    code = "unreachable"
    title = "The API can't be reached"


class _Told(msgspec.Struct):
    """What is read of a problem+json answer."""

    type: str = ""
    title: str = ""
    detail: str = ""
    errors: list[Problem] = []
    instance: str = ""


def refusal(status: int, body: bytes, call: str) -> MatinsError:
    """The error that an answer tells of."""
    try:
        told = msgspec.json.decode(body, type=_Told)
    except (msgspec.DecodeError, UnicodeDecodeError):
        shown = body[:_SHOWN_MAX].decode(errors="replace").strip()
        kind = UnavailableError if status in (502, 503, 504) else MatinsError
        return kind(f"{call} gave HTTP {status}: {shown}")
    code = told.type.removeprefix(_PREFIX)
    if code == InvalidInputError.code:
        return InvalidInputError(told.errors or [Problem("", told.detail)])
    detail = f"{told.detail or told.title} {told.instance}".strip()
    return _KINDS.get(code, MatinsError)(detail or f"{call} gave HTTP {status}")
