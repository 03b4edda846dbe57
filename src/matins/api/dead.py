"""Dead letters: below a team, and why a run failed."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from litestar import Router, get, post
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter

from matins.api.bodies import Strict
from matins.api.dependencies import Failures, Letters, Owners, Principal, Replays
from matins.api.jobs import Limit
from matins.domain.jobs.authors import Author
from matins.domain.runs.dead import (
    DeadCounts,
    DeadFilter,
    DeadGroup,
    DeadPage,
    DismissDead,
    Dismissed,
    RunFailure,
)
from matins.domain.runs.replays import Replay, ReplayDead
from matins.domain.values.errors import check

OfJob = Annotated[str | None, QueryParameter(name="job", description="Only of this job.")]
OfFingerprint = Annotated[
    str | None, QueryParameter(name="fingerprint", description="Only with this fingerprint.")
]
Since = Annotated[
    datetime | None, QueryParameter(name="since", description="Only what died since then.")
]
Until = Annotated[
    datetime | None, QueryParameter(name="until", description="Only what died before then.")
]


@get("/teams/{team:str}/dead")
async def list_dead_letters(  # noqa: PLR0913, PLR0917 # what a query may say
    letters: Letters,
    team: FromPath[str],
    job: OfJob = None,
    fingerprint: OfFingerprint = None,
    since: Since = None,
    until: Until = None,
    dismissed: Annotated[
        bool, QueryParameter(description="Those that were dismissed, instead of the open ones.")
    ] = False,
    before: FromQuery[UUID | None] = None,
    limit: Limit = 100,
) -> DeadPage:
    """List a team's dead letters, newest due time first; `before` is the `next` of the page
    before.
    """
    wanted = _wanted(job, fingerprint, since, until)
    return await letters.page(team, wanted, before, limit, dismissed=dismissed)


@get("/teams/{team:str}/dead/groups")
async def list_dead_groups(
    letters: Letters,
    team: FromPath[str],
    job: OfJob = None,
    fingerprint: OfFingerprint = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 100,
) -> list[DeadGroup]:
    """List groups of a team's open dead letters, by job and fingerprint, the largest first; of the
    20,000 newest letters that are asked for.
    """
    return await letters.groups(team, _wanted(job, fingerprint, since, until), limit)


@get("/teams/{team:str}/dead/counts")
async def count_dead_letters(letters: Letters, team: FromPath[str]) -> DeadCounts:
    """Count a team's open dead letters, up to 100,000, and those of the 1,000 of its jobs that have
    most; `complete` says whether these are all.
    """
    return await letters.counts(team)


@post("/teams/{team:str}/dead/dismiss", status_code=200, dto=Strict[DismissDead], return_dto=None)
async def dismiss_dead_letters(
    owners: Owners, principal: Principal, team: FromPath[str], data: JSONBody[DismissDead]
) -> Dismissed:
    """Dismiss open dead letters of a team with a note: runs, those that meet a filter, or
    everything. Their runs stay dead, and are kept no longer than others.
    """
    return await owners.dead.dismiss(team, data, Author(principal))


@post("/teams/{team:str}/dead/replay", dto=Strict[ReplayDead], return_dto=None)
async def replay_dead_letters(
    owners: Owners, principal: Principal, team: FromPath[str], data: JSONBody[ReplayDead]
) -> Replay:
    """Replay open dead letters of a team that are there now, at a rate: runs, those that meet a
    filter, or everything. Each gets one attempt more, as the same run.
    """
    return await owners.dead.replay(team, data, Author(principal))


@get("/teams/{team:str}/replays")
async def list_replays(replays: Replays, team: FromPath[str], limit: Limit = 100) -> list[Replay]:
    """List a team's replays, newest first."""
    return await replays.of_team(team, limit)


@get("/replays/{replay_id:uuid}")
async def show_replay(replays: Replays, replay_id: FromPath[UUID]) -> Replay:
    """Show how far a replay is, and when it will end by its rate."""
    return await replays.found(replay_id)


@post("/replays/{replay_id:uuid}/cancel", status_code=200)
async def cancel_replay(owners: Owners, replay_id: FromPath[UUID]) -> Replay:
    """Cancel a replay: what it has replayed goes on, the other letters stay as they are."""
    return await owners.dead.cancel_replay(replay_id)


@get("/runs/{run_id:uuid}/failure")
async def show_failure(failures: Failures, run_id: FromPath[UUID]) -> RunFailure:
    """Show why a run failed: its last error, its dead letter if it has one, how often runs of the
    job before it have failed alike, and what changed in the job since the last success.

    409 when no attempt of it failed.
    """
    return await failures.of_run(run_id)


def _wanted(
    job: str | None, fingerprint: str | None, since: datetime | None, until: datetime | None
) -> DeadFilter:
    wanted = DeadFilter(job, fingerprint, since, until)
    check(wanted.problems())
    return wanted


ROUTER = Router(
    "/",
    tags=["dead letters"],
    route_handlers=[
        list_dead_letters,
        list_dead_groups,
        count_dead_letters,
        dismiss_dead_letters,
        replay_dead_letters,
        list_replays,
        show_replay,
        cancel_replay,
        show_failure,
    ],
)
