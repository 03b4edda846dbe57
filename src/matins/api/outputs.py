"""The output of runs: /v1/runs/{run_id}/output, as text or as events."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from litestar import MediaType, Request, Router, get
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath, HeaderParameter, QueryParameter
from litestar.types import ASGIApp

from matins.api.dependencies import Outputs
from matins.domain.runs.output import LINES_MAX
from matins.domain.values.errors import InvalidInputError

_EVENTS = "text/event-stream"

Attempt = Annotated[
    int | None, QueryParameter(ge=1, description="Only this attempt; without it the last one.")
]
Tail = Annotated[
    int | None, QueryParameter(ge=1, le=LINES_MAX, description="So many of the last lines only.")
]
LastId = Annotated[
    str, HeaderParameter(name="Last-Event-ID", description="Of the last event that one has.")
]


_ANSWER = ResponseSpec(
    str, generate_examples=False, description="The text, or events.", media_type=MediaType.TEXT
)


@get("/runs/{run_id:uuid}/output", media_type=MediaType.TEXT, responses={200: _ANSWER})
async def show_output(
    request: Request[Any, Any, Any],
    outputs: Outputs,
    run_id: FromPath[UUID],
    attempt: Attempt = None,
    tail: Tail = None,
    last_id: LastId = "",
) -> ASGIApp:
    """Show the output of an attempt, as text: of one that goes on, what there is so far.

    With `Accept: text/event-stream`, events until the run has ended: `output` with a piece of text
    and where it begins, `progress`, `state`, `notice`, and at last `end`.
    """
    if _EVENTS not in request.headers.get("accept", ""):
        return await outputs.text(run_id, attempt, tail)  # type: ignore[return-value] # same messages
    if tail is not None:
        raise InvalidInputError.at("tail", "is not for events; leave it out")
    return await outputs.events(run_id, attempt, last_id)  # type: ignore[return-value] # same messages


ROUTER = Router("/", tags=["runs"], route_handlers=[show_output])
