"""What owners do to a run from its page: cancel, retry now or no more, replay."""

from __future__ import annotations

from uuid import UUID

from litestar import Response, Router, post
from litestar.params import FromPath

from matins.api.dependencies import Calls, Owners, Principal, Status
from matins.domain.jobs.authors import Author
from matins.domain.runs.states import RunState
from matins.web.inputs import read_input
from matins.web.live import LivePart
from matins.web.rendering import WebRequest, done
from matins.web.wording import run_path

ITEM = None
LIVE: list[LivePart] = []


@post("/runs/{run_id:uuid}/cancel")
async def cancel_run(
    request: WebRequest, owners: Owners, status: Status, run_id: FromPath[UUID]
) -> Response[bytes]:
    """End a run."""
    cancelled = await owners.runs.cancel(run_id)
    await status.note(cancelled)
    is_over = cancelled.state is RunState.CANCELLED
    text = "Cancelled." if is_over else "Its executor is told to stop it."
    return done(request, text, run_path(run_id))


@post("/runs/{run_id:uuid}/retry")
async def retry_run(request: WebRequest, owners: Owners, run_id: FromPath[UUID]) -> Response[bytes]:
    """Make the next attempt now."""
    await owners.runs.retry_now(run_id)
    return done(request, "The next attempt is made now.", run_path(run_id))


@post("/runs/{run_id:uuid}/stop-retrying")
async def stop_retrying(
    request: WebRequest, owners: Owners, principal: Principal, run_id: FromPath[UUID]
) -> Response[bytes]:
    """Make no further attempt."""
    reason = str((await request.form()).get("reason", "")).strip()
    await owners.runs.stop_retrying(run_id, Author(principal, reason))
    return done(request, "No further attempt is made; the run is dead.", run_path(run_id))


@post("/runs/{run_id:uuid}/replay")
async def replay_run(
    request: WebRequest, owners: Owners, principal: Principal, run_id: FromPath[UUID]
) -> Response[bytes]:
    """Give a dead run one attempt more."""
    await owners.runs.replay(run_id, Author(principal))
    return done(request, "Replayed: the run gets one attempt more.", run_path(run_id))


@post("/runs/{run_id:uuid}/replay-edited")
async def replay_edited(
    request: WebRequest,
    owners: Owners,
    calls: Calls,
    principal: Principal,
    run_id: FromPath[UUID],
) -> Response[bytes]:
    """Run the job of a dead run with another input, in its place.

    The form has a key: sent twice, it makes one run.
    """
    form = await request.form()
    given = (await calls.of_run(run_id)).given
    made = await owners.runs.replay_changed(
        run_id,
        read_input(form, given),
        key=str(form.get("key", "")) or None,
        allow_overlap=bool(form.get("allow_overlap")),
        author=Author(principal),
    )
    text = (
        "Started with the edited input. This run stands for the dead one, whose letter is closed."
    )
    return done(request, text, run_path(made.id))


ROUTER = Router(
    "/", route_handlers=[cancel_run, retry_run, stop_retrying, replay_run, replay_edited]
)
