"""The SDK's part for dead letters."""

from __future__ import annotations

from typing import Final
from uuid import UUID

import msgspec

from matins.client.calls import ApiCalls
from matins.client.paths import all_of, query_of
from matins.domain.executors.protocol import RunStatus
from matins.domain.runs.dead import (
    DeadCounts,
    DeadFilter,
    DeadGroup,
    DeadPage,
    DismissDead,
    Dismissed,
    RunFailure,
)
from matins.domain.runs.inputs import NO_INPUT, RunInput, key_problems
from matins.domain.runs.replays import Replay, ReplayDead
from matins.domain.values.errors import check
from matins.domain.views import Trigger

ANY: Final = DeadFilter()
"""No filter: all letters of a team."""


class DeadLetterCalls:
    """Looks at dead letters, replays and dismisses them. Part of `Matins`."""

    _calls: ApiCalls

    async def dead_page(
        self,
        team: str,
        letters: DeadFilter = ANY,
        *,
        dismissed: bool = False,
        before: UUID | None = None,
        limit: int = 100,
    ) -> DeadPage:
        """Return a page of a team's open dead letters, or of `dismissed` ones; newest due time
        first.
        """
        page = query_of(dismissed=dismissed or None, before=before, limit=limit)
        query = _written(letters) | page
        return await self._calls.ask(DeadPage, "GET", all_of(team, "dead"), query=query)

    async def list_dead_groups(
        self, team: str, letters: DeadFilter = ANY, *, limit: int = 100
    ) -> list[DeadGroup]:
        """Return groups of a team's open dead letters, by job and fingerprint; largest first."""
        query, path = _written(letters) | query_of(limit=limit), all_of(team, "dead/groups")
        return await self._calls.ask(list[DeadGroup], "GET", path, query=query)

    async def get_dead_counts(self, team: str) -> DeadCounts:
        """Return how many open dead letters a team has, and its jobs that have any."""
        return await self._calls.ask(DeadCounts, "GET", all_of(team, "dead/counts"))

    async def dismiss_dead(self, team: str, dismissal: DismissDead) -> Dismissed:
        """Dismiss open dead letters of a team, with a note. Can be repeated."""
        path = all_of(team, "dead/dismiss")
        return await self._calls.ask(Dismissed, "POST", path, content=dismissal)

    async def replay_dead(self, team: str, wanted: ReplayDead) -> Replay:
        """Replay open dead letters of a team that are there now, at a rate."""
        path = all_of(team, "dead/replay")
        return await self._calls.ask(Replay, "POST", path, content=wanted)

    async def get_replay(self, replay_id: UUID) -> Replay:
        """Return how far a replay is."""
        return await self._calls.ask(Replay, "GET", f"/v1/replays/{replay_id}")

    async def list_replays(self, team: str) -> list[Replay]:
        """Return the newest replays of a team."""
        return await self._calls.ask(list[Replay], "GET", all_of(team, "replays"))

    async def cancel_replay(self, replay_id: UUID) -> Replay:
        """End a replay: what it has replayed goes on."""
        return await self._calls.ask(Replay, "POST", f"/v1/replays/{replay_id}/cancel")

    async def replay_run(
        self,
        run_id: UUID,
        run_input: RunInput = NO_INPUT,
        *,
        key: str | None = None,
        allow_overlap: bool = False,
    ) -> RunStatus:
        """Give a dead run one attempt more, as the same run. Raises ConflictError for others.

        With an input its job is triggered, as a new run that stands for the dead one; `key` and
        `allow_overlap` are as in `trigger_job`.
        """
        if key is not None:
            check(key_problems(key))
        headers = {} if key is None else {"Idempotency-Key": key}
        fields = msgspec.structs.asdict(run_input)
        changes = Trigger(**fields, allow_overlap=allow_overlap)
        path = f"/v1/runs/{run_id}/replay"
        return await self._calls.ask(RunStatus, "POST", path, content=changes, headers=headers)

    async def get_failure(self, run_id: UUID) -> RunFailure:
        """Return why a run failed. Raises ConflictError when no attempt of it did."""
        return await self._calls.ask(RunFailure, "GET", f"/v1/runs/{run_id}/failure")


def _written(letters: DeadFilter) -> dict[str, str]:
    return query_of(
        job=letters.job,
        fingerprint=letters.fingerprint,
        since=letters.since,
        until=letters.until,
    )
