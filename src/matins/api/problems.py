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
from matins.domain.values.errors import (
    InvalidInputError,
    MatinsError,
    ProblemDetails,
    problem_details,
)
from matins.kernel.http import PROBLEM_TYPE, problem_headers

log = structlog.get_logger()

BODY_MAX = 1024 * 1024
"""The longest body of a request, in bytes."""


def details_of(error: Exception) -> ProblemDetails:
    """Return what is told of an error."""
    match error:
        case MatinsError():
            return problem_details(error)
        case RecursionError():
            return details_of(InvalidInputError.at("", "is nested too deeply"))
        case HTTPException() if error.status_code < 500:
            return _of_http(error)
    instance = f"urn:uuid:{uuid4()}"
    log.error("api.failed", instance=instance, exc_info=error)
    details = problem_details(MatinsError("the server's log says why, under this instance"))
    return msgspec.structs.replace(details, instance=instance)


def to_response(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """Answer an error of a handler."""
    if isinstance(error, ValidationException):
        error = InvalidInputError(faults_of(request, error))
    problem = details_of(error)
    return Response(
        msgspec.json.encode(problem),
        status_code=problem.status,
        media_type=PROBLEM_TYPE,
        headers=problem_headers(problem),
    )


def _of_http(error: HTTPException) -> ProblemDetails:
    status = HTTPStatus(error.status_code)
    detail = error.detail
    if status is HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        detail = f"a body may have at most {BODY_MAX} bytes"
    kind = f"urn:matins:problem:{status.phrase.lower().replace(' ', '-')}"
    return ProblemDetails(kind, status.phrase, status.value, detail)
