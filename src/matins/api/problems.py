"""Every error as problem+json (RFC 9457). What nobody raised on purpose tells only an id."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from uuid import uuid4

import msgspec
import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException, ValidationException

from matins.api.parameters import faults_of
from matins.domain.errors import (
    InvalidInputError,
    MatinsError,
    Problem,
    UnauthorizedError,
    UnavailableError,
)

log = structlog.get_logger()

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 1
BODY_MAX = 1024 * 1024
"""The longest body of a request, in bytes."""


class ProblemDetails(msgspec.Struct, frozen=True):
    """The body of every error. `errors` names each place that is wrong, and what is right there."""

    type: str
    title: str
    status: int
    detail: str = ""
    errors: list[Problem] = []
    instance: str | msgspec.UnsetType = msgspec.UNSET


def details_of(error: Exception) -> ProblemDetails:
    """What is told of an error."""
    match error:
        case InvalidInputError():
            detail = str(error)
            return _details(error.code, error.title, error.status, detail, error.problems)
        case MatinsError():
            return _details(error.code, error.title, error.status, str(error))
        case RecursionError():
            return details_of(InvalidInputError.at("", "is nested too deeply"))
        case HTTPException() if error.status_code < 500:
            return _of_http(error)
    instance = f"urn:uuid:{uuid4()}"
    log.error("api.failed", instance=instance, exc_info=error)
    detail = "the server's log says why, under this instance"
    problem = _details(MatinsError.code, MatinsError.title, MatinsError.status, detail)
    return msgspec.structs.replace(problem, instance=instance)


def headers_of(problem: ProblemDetails) -> dict[str, str]:
    """The headers that go with an error, beside the media type."""
    if problem.status == UnavailableError.status:
        return {"retry-after": str(RETRY_AFTER_S)}
    if problem.status == UnauthorizedError.status:
        return {"www-authenticate": "Bearer"}
    return {}


def to_response(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """Answer an error of a handler."""
    if isinstance(error, ValidationException):
        error = InvalidInputError(faults_of(request, error))
    problem = details_of(error)
    return Response(
        msgspec.json.encode(problem),
        status_code=problem.status,
        media_type=MEDIA_TYPE,
        headers=headers_of(problem),
    )


def _of_http(error: HTTPException) -> ProblemDetails:
    status = HTTPStatus(error.status_code)
    detail = error.detail
    if status is HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        detail = f"a body may have at most {BODY_MAX} bytes"
    return _details(status.phrase.lower().replace(" ", "-"), status.phrase, status.value, detail)


def _details(
    code: str, title: str, status: int, detail: str, errors: list[Problem] | None = None
) -> ProblemDetails:
    return ProblemDetails(f"urn:matins:problem:{code}", title, status, detail, errors or [])
