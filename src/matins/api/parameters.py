"""Parameters of requests: unknown ones are refused, and faults are told under the names in use."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from litestar import Request
from litestar.exceptions import ValidationException
from litestar.params import HeaderParameter, QueryParameter

from matins.domain.time.instants import instant_problems
from matins.domain.values.errors import InvalidInputError, Problem, check

UNSUPPORTED = ("If-Match", "If-None-Match", "If-Unmodified-Since", "Idempotency-Key")
"""Headers by which a client makes a change safe; refused wherever nothing would keep to them."""


async def refuse_unknown(request: Request[Any, Any, Any]) -> None:
    """Refuse what would change nothing: parameters that the handler doesn't know, a body that it
    doesn't read, and conditions that nobody looks at.
    """
    known = _names(request)
    unknown = sorted(set(request.query_params) - set(known.values()))
    rule = f"known are {', '.join(sorted(known.values()))}" if known else "it takes no parameters"
    problems = [Problem(name, f"is not known here; {rule}") for name in unknown]
    if request.method != "GET":
        problems += [
            Problem(name, "is not supported yet, so it would not hold; leave it out")
            for name in UNSUPPORTED
            if name in request.headers and name not in _headers(request)
        ]
    if "data" not in request.route_handler.parsed_fn_signature.parameters:
        problems += _body_problems(await request.body())
    check(problems)


def _body_problems(body: bytes) -> list[Problem]:
    """Return what is wrong with the body of a request that takes none; an empty object says
    nothing.
    """
    try:
        content = msgspec.json.decode(body) if body.strip() else {}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        content = body
    if isinstance(content, dict):
        return [Problem(name, "is not known here; it takes no body") for name in sorted(content)]
    return [Problem("", "it takes no body")]


def check_instant(where: str, instant: datetime | None) -> None:
    """Refuse an instant without an offset from UTC, or outside of the years that UTC has."""
    if instant is not None:
        check(instant_problems(where, instant))


def check_same_name(body_name: str, name: str) -> None:
    """Refuse a body that has another name than its address."""
    if body_name != name:
        raise InvalidInputError.at("name", f"is {body_name!r}, but the address says {name!r}")


def bare(text: str) -> str:
    """Return what a structured header says (RFC 8941): a text may stand in quotes."""
    quoted = len(text) > 1 and text[0] == text[-1] == '"'
    return text[1:-1] if quoted else text


def faults_of(request: Request[Any, Any, Any], error: ValidationException) -> list[Problem]:
    """Return what is wrong with the parameters or the body of a request, by name."""
    names = _names(request)
    problems = []
    for item in error.extra if isinstance(error.extra, list) else []:
        key = item.get("key", "")
        message = "the body is empty; it must be JSON" if key == "data" else item["message"]
        where = "" if key == "data" else names.get(key, key)
        problems.append(Problem(where, message[:1].lower() + message[1:]))
    return problems or [Problem("", error.detail)]


def _headers(request: Request[Any, Any, Any]) -> set[str]:
    """Return the names of the headers that a handler keeps to."""
    definitions = [
        parameter.kwarg_definition
        for parameter in request.route_handler.parsed_fn_signature.parameters.values()
    ]
    headers = [header for header in definitions if isinstance(header, HeaderParameter)]
    return {header.name for header in headers if header.name}


def _names(request: Request[Any, Any, Any]) -> dict[str, str]:
    """Return the names of a handler's query parameters, by the names of its arguments."""
    names = {}
    for argument, field in request.route_handler.parsed_fn_signature.parameters.items():
        parameter = field.kwarg_definition
        if isinstance(parameter, QueryParameter):
            names[argument] = parameter.name or argument
    return names
