"""Runs: /v1/runs and below. The status of one is answered in `status`, before it comes here."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

import msgspec
from litestar import Router, get, post
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter

from matins.api.bodies import Strict
from matins.api.dependencies import Outlooks, Owners, Principal, Reads, RunNames, Status
from matins.api.jobs import Key, Limit
from matins.api.parameters import bare, check_instant
from matins.domain.executors.protocol import RunStatus
from matins.domain.jobs.authors import Author
from matins.domain.runs.inputs import GivenInput
from matins.domain.runs.outlook import Outlook
from matins.domain.runs.states import RunState
from matins.domain.runs.stopping import StopRetrying
from matins.domain.views import AttemptRecord, RunPage, Trigger


@get("/runs")
async def list_runs(
    reads: Reads,
    team: FromQuery[str | None] = None,
    wanted: Annotated[
        RunState | None, QueryParameter(name="state", description="Only runs in this state.")
    ] = None,
    since: FromQuery[datetime | None] = None,
    before: FromQuery[UUID | None] = None,
    limit: Limit = 100,
) -> RunPage:
    """List runs, newest due time first, of all jobs or of a team's; of the last 7 days, unless
    `since` says otherwise.
    """
    check_instant("since", since)
    states = list(RunState) if wanted is None else [wanted]
    return await reads.runs(team, states, since, before, limit)


@get("/runs/resolve")
async def find_run(
    run_names: RunNames, name: FromQuery[str], failed: FromQuery[bool] = False
) -> RunStatus:
    """Find the run that a name means: an id, the beginning of one (from 4 digits on),
    `team/job` for the last run of a job, or `team/job@2026-11-30T02:00` for the one that was due
    then, in the job's zone unless with an offset.

    `failed`: the last run of the job that failed, and nothing has made up for. 422 where the name
    may mean several, which are listed.
    """
    return await run_names.find(name, failed=failed)


@get("/runs/{run_id:uuid}")
async def show_status(status: Status, run_id: FromPath[UUID]) -> RunStatus:
    """Show how a run stands. Cheap: poll it as often as you like."""
    return msgspec.json.decode(await status.read(run_id), type=RunStatus)


@get("/runs/{run_id:uuid}/attempts")
async def list_attempts(reads: Reads, run_id: FromPath[UUID]) -> list[AttemptRecord]:
    """List a run's attempts, with what they wrote. The one that runs now has no outcome yet."""
    return await reads.attempts(run_id)


@get("/runs/{run_id:uuid}/input")
async def show_input(reads: Reads, run_id: FromPath[UUID]) -> GivenInput:
    """Show what a trigger or a replay changed of the target for this run, and for which dead run it
    stands; and who replayed it. Empty for any other run.
    """
    return await reads.run_input(run_id)


@get("/runs/{run_id:uuid}/outlook")
async def show_outlook(outlooks: Outlooks, run_id: FromPath[UUID]) -> Outlook:
    """Show of a run that waits why it does, what is before it, and when it will probably start.

    409 when it does not wait.
    """
    return await outlooks.of(run_id)


@post("/runs/{run_id:uuid}/cancel", status_code=202)
async def cancel_run(owners: Owners, status: Status, run_id: FromPath[UUID]) -> RunStatus:
    """Cancel a run: at once if it waits; its executor stops it within a heartbeat if it is running.

    409 when it has ended.
    """
    cancelled = await owners.runs.cancel(run_id)
    await status.note(cancelled)
    return cancelled


@post("/runs/{run_id:uuid}/retry", status_code=202)
async def retry_run(owners: Owners, run_id: FromPath[UUID]) -> RunStatus:
    """Make the next attempt of a run now that is to be tried again. 409 when it waits for none."""
    return await owners.runs.retry_now(run_id)


@post(
    "/runs/{run_id:uuid}/stop-retrying",
    status_code=202,
    dto=Strict[StopRetrying],
    return_dto=None,
)
async def stop_retrying(
    owners: Owners,
    principal: Principal,
    run_id: FromPath[UUID],
    data: JSONBody[StopRetrying | None] = None,
) -> RunStatus:
    """End a run that is to be tried again: it is dead, with the reason and the name of the token.

    It can be replayed. 409 when it waits for no attempt.
    """
    author = Author(principal, (data or StopRetrying()).reason)
    return await owners.runs.stop_retrying(run_id, author)


@post("/runs/{run_id:uuid}/replay", status_code=202, dto=Strict[Trigger], return_dto=None)
async def replay_run(
    owners: Owners,
    principal: Principal,
    run_id: FromPath[UUID],
    key: Key = None,
    data: JSONBody[Trigger | None] = None,
) -> RunStatus:
    """Give a dead run one attempt more, as the same run. Its dead letter is closed.

    If it succeeds, what was skipped because of it, in jobs that follow its job, starts. 409 when it
    is not dead.

    With a body its job is triggered with that input, as a new run that stands for the dead one; its
    letter is closed, too. Repeated with the same `Idempotency-Key`, it answers how that run stands.
    """
    changes = data or Trigger()
    if key is not None or changes != Trigger():
        return await owners.runs.replay_changed(
            run_id,
            changes.run_input,
            key=None if key is None else bare(key),
            allow_overlap=changes.allow_overlap,
            author=Author(principal),
        )
    return await owners.runs.replay(run_id, Author(principal))


ROUTER = Router(
    "/",
    tags=["runs"],
    route_handlers=[
        list_runs,
        find_run,
        show_status,
        list_attempts,
        show_input,
        show_outlook,
        cancel_run,
        retry_run,
        stop_retrying,
        replay_run,
    ],
)
