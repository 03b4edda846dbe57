"""The page of one run: how it went or goes, why it waits or failed, what it called and wrote."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, NamedTuple
from uuid import UUID

from litestar import Response, Router, get
from litestar.params import FromPath, FromQuery, HeaderParameter
from litestar.types import ASGIApp

from matins.api.dependencies import Dependencies, Outputs, Sources
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import Target
from matins.domain.runs.dead import RunFailure
from matins.domain.runs.inputs import NO_INPUT, RunInput, with_input
from matins.domain.runs.outlook import Outlook
from matins.domain.runs.states import FINAL, RunState
from matins.domain.values.errors import ConflictError, InvalidInputError, NotFoundError
from matins.domain.views import AttemptRecord, Run
from matins.insight.why.explanation import Explanation
from matins.store.calls import PostgresCalls, RunCall
from matins.web.charts.timeline import timeline
from matins.web.diffs import spec_diff
from matins.web.inputs import body_text, input_form
from matins.web.live import LivePart
from matins.web.masking import masked_input, masked_target
from matins.web.rendering import WebRequest, now_of, page, render

_WAITS = (RunState.WAITING, RunState.QUEUED, RunState.RETRYING)
_FAILED = (RunState.DEAD, RunState.RETRYING)

ITEM = None


class ShownRun(NamedTuple):
    """What is shown of a run, and changes while it goes on."""

    run: Run
    attempts: Sequence[AttemptRecord]
    explanation: Explanation
    outlook: Outlook | None
    failure: RunFailure | None

    @property
    def is_over(self) -> bool:
        """Whether nothing of it changes by itself any more."""
        return self.run.state in FINAL


@get("/runs/{run_id:uuid}")
async def show_run(
    request: WebRequest,
    sources: Sources,
    run_id: FromPath[UUID],
    attempt: FromQuery[int | None] = None,
) -> Response[bytes]:
    """Show a run; the output is that of one attempt, the last one if none is named."""
    view = await _view(sources, run_id)
    call = await sources.calls.of_run(run_id)
    success = view.failure.last_success if view.failure else None
    before = await _spec_of(sources.calls, success.run_id) if success else None
    target = _target(call)
    return page(
        request,
        "run.html",
        view=view,
        line=timeline(view.run, view.attempts, now_of(request)),
        shown=_chosen(view.attempts, attempt),
        call=call,
        target=target,
        target_body=body_text(target.http.body) if target and target.http else "",
        given=masked_input(call.given),
        form=input_form(call.spec, call.given),
        changes=spec_diff(before, call.spec) if before and call.spec else [],
    )


@get("/runs/{run_id:uuid}/output.txt")
async def download_output(
    outputs: Outputs, run_id: FromPath[UUID], attempt: FromQuery[int | None] = None
) -> ASGIApp:
    """Send all that is kept of what an attempt wrote."""
    return await outputs.text(run_id, attempt, None)  # type: ignore[return-value] # same messages


@get("/runs/{run_id:uuid}/output")
async def follow_output(
    outputs: Outputs,
    run_id: FromPath[UUID],
    last_id: Annotated[str, HeaderParameter(name="Last-Event-ID")] = "",
) -> ASGIApp:
    """Send what the run's attempts write, as events, until it has ended."""
    return await outputs.events(run_id, None, last_id)  # type: ignore[return-value] # same messages


async def _draw(dependencies: Dependencies, argument: str) -> str:
    view = await _view(dependencies, _id(argument))
    now = await dependencies.reads.now()
    line = timeline(view.run, view.attempts, now)
    return render("parts/run.html", now, view=view, line=line)


async def _look(dependencies: Dependencies, argument: str) -> Run:
    return await dependencies.reads.run(_id(argument))


async def _view(sources: Dependencies, run_id: UUID) -> ShownRun:
    run = await sources.reads.run(run_id)
    attempts, explanation, outlook, failure = await asyncio.gather(
        sources.reads.attempts(run_id),
        sources.explanations.of_run(run_id),
        _outlook(sources, run),
        _failure(sources, run),
    )
    return ShownRun(run, attempts, explanation, outlook, failure)


async def _outlook(sources: Dependencies, run: Run) -> Outlook | None:
    if run.state in _WAITS:
        with suppress(ConflictError):  # it has started meanwhile
            return await sources.outlooks.of(run.id)
    return None


async def _failure(sources: Dependencies, run: Run) -> RunFailure | None:
    if run.state in _FAILED:
        with suppress(ConflictError):  # no attempt of it was made
            return await sources.failures.of_run(run.id)
    return None


async def _spec_of(calls: PostgresCalls, run_id: UUID) -> JobSpec | None:
    with suppress(NotFoundError):  # it was purged meanwhile
        return (await calls.of_run(run_id)).spec
    return None


def _target(call: RunCall) -> Target | None:
    """Return what a run calls, without secrets."""
    if call.spec is None:
        return None
    given = RunInput(call.given.args, call.given.env, call.given.headers, call.given.body)
    target = call.spec.target
    if given != NO_INPUT:
        with suppress(InvalidInputError):  # the job's target is of another kind by now
            target = with_input(target, given)
    return masked_target(target)


def _chosen(attempts: Sequence[AttemptRecord], number: int | None) -> AttemptRecord | None:
    """Return the attempt of a number, the last one without it."""
    if number is None:
        return attempts[-1] if attempts else None
    return next((attempt for attempt in attempts if attempt.number == number), None)


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise NotFoundError(f"there is no run {text[:40]!r}") from None


LIVE = [LivePart("run", _draw, look=_look)]
ROUTER = Router("/", route_handlers=[show_run, download_output, follow_output])
