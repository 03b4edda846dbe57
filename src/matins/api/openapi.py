"""The description of the API in OpenAPI 3.1, made from the handlers and their types."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from litestar import Litestar

from matins.domain.values.errors import ProblemDetails
from matins.kernel.http import PROBLEM_TYPE

_METHODS = ("get", "put", "post", "delete", "patch")
_OPEN = {
    "/health": "The process turns",
    "/ready": "The database can be read and written; what stands still is told, a line each",
    "/metrics": "Metrics for Prometheus",
}
_PINGS = {
    "/ping/{token}": "What something else runs has succeeded; GET and HEAD mean the same",
    "/ping/{token}/{what}": "It has begun (start), failed (fail), or ended with an exit code",
}


def describe(app: Litestar) -> dict[str, Any]:
    """Describe all resources; every operation may answer with a problem, and needs the token."""
    schema: dict[str, Any] = app.openapi_schema.to_schema()
    schema["info"]["description"] = "Matins, a distributed job scheduler: the owners' side."
    schema["info"]["license"] = {"name": "Apache-2.0", "identifier": "Apache-2.0"}
    schema["security"] = [{"token": []}]
    components = schema["components"]
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    [problem], schemas = msgspec.json.schema_components(
        [ProblemDetails], ref_template="#/components/schemas/{name}"
    )
    components["schemas"] |= schemas
    refusal = {
        "description": "It was refused (RFC 9457).",
        "content": {PROBLEM_TYPE: {"schema": problem}},
    }
    schema["paths"] |= {path: {"get": _open(what)} for path, what in _OPEN.items()}
    schema["paths"] |= {path: {"post": _ping(path, what)} for path, what in _PINGS.items()}
    for path in schema["paths"].values():
        for method in path.keys() & set(_METHODS):
            responses = path[method]["responses"]
            responses.pop("400", None)
            responses["default"] = refusal
    return schema


def _open(summary: str) -> dict[str, Any]:
    """Return an operation that needs no token and answers with plain text."""
    answer = {"description": summary, "content": {"text/plain": {"schema": {"type": "string"}}}}
    return {"summary": summary, "tags": ["process"], "security": [], "responses": {"200": answer}}


def _ping(path: str, summary: str) -> dict[str, Any]:
    """Return an operation whose token is in its path."""
    text = {"type": "string"}
    named = re.findall(r"{(\w+)}", path)
    parameters = [{"name": name, "in": "path", "required": True, "schema": text} for name in named]
    took = {"name": "duration", "in": "query", "schema": {"type": "number", "minimum": 0}}
    body = {"content": {"text/plain": {"schema": text}}}
    said = {"tags": ["alerts"], "parameters": [*parameters, took], "requestBody": body}
    return _open(summary) | said
