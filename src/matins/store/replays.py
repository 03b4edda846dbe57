"""Replays of dead letters in PostgreSQL. See `domain.ports.dead`."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

import asyncpg

from matins.domain.jobs.limits import parse_rate
from matins.domain.ports.dead import NewReplay
from matins.domain.runs.replays import OpenReplay, Replay, ReplayState, ReplayStep, end_of
from matins.domain.values.errors import NotFoundError
from matins.domain.values.ids import due_of, partition_of
from matins.domain.values.names import check_name
from matins.store.database import Database
from matins.store.dead import filter_args
from matins.store.queries import load_queries

_Q = load_queries("replays.sql")
_DAYS = load_queries("manual.sql")


class PostgresReplays:
    """The scheduler's side. See `domain.ports.dead.Replays`."""

    def __init__(self, steps: Database, reads: Database) -> None:
        self._steps = steps
        self._reads = reads

    async def unfinished_replays(self, partitions: Collection[int]) -> list[OpenReplay]:
        """See `domain.ports.dead.Replays`."""
        rows = await self._reads.fetch(_Q["unfinished"], partitions=list(partitions))
        return [OpenReplay(**row) for row in rows]

    async def next_letters(self, replay_id: UUID, limit: int) -> list[UUID]:
        """See `domain.ports.dead.Replays`."""
        rows = await self._reads.fetch(_Q["letters"], id=replay_id, limit=limit)
        return [row["run_id"] for row in rows]

    async def proceed(self, step: ReplayStep) -> int:
        """See `domain.ports.dead.Replays`. Days that are over are opened again."""
        due_ats = [due_of(run) for run in step.run_ids]
        for day in {due_at.date(): due_at for due_at in due_ats}.values():
            await self._reads.fetch(_DAYS["reopen_day"], due_at=day)
        [row] = await self._steps.fetch(
            _Q["proceed"],
            id=step.replay.id,
            step=step.replay.step,
            run_ids=list(step.run_ids),
            due_ats=due_ats,
            mark=step.mark,
            paced_at=step.paced_at,
            is_last=step.is_last,
        )
        count: int = row["count"]
        return count


class PostgresReplayChanges:
    """The owners' side. See `domain.ports.dead.ReplayChanges`; and lists for owners."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, replay: NewReplay) -> bool:
        """See `domain.ports.dead.ReplayChanges`."""
        row = await self._database.fetchrow(
            _Q["create"],
            id=replay.id,
            partition=partition_of(replay.id),
            **filter_args(replay.team, replay.letters),
            rate=replay.letters.rate,
            spacing=parse_rate(replay.letters.rate).spacing,
            by=replay.by,
        )
        return row is not None

    async def cancel(self, replay_id: UUID) -> bool:
        """See `domain.ports.dead.ReplayChanges`."""
        return await self._database.fetchrow(_Q["cancel"], id=replay_id) is not None

    async def find_replay(self, replay_id: UUID) -> Replay | None:
        """See `domain.ports.dead.ReplayChanges`."""
        row = await self._database.fetchrow(_Q["find_replay"], id=replay_id)
        return None if row is None else _replay(row)

    async def of_team(self, team: str, limit: int) -> list[Replay]:
        """Return the newest replays of a team."""
        check_name("team", team)
        rows = await self._database.fetch(_Q["of_team"], team=team, limit=limit)
        return [_replay(row) for row in rows]

    async def newest(self, limit: int) -> list[Replay]:
        """Return the newest replays of all teams, with those that are not over."""
        return [_replay(row) for row in await self._database.fetch(_Q["newest"], limit=limit)]

    async def found(self, replay_id: UUID) -> Replay:
        """Return how a replay stands. Raises NotFoundError."""
        replay = await self.find_replay(replay_id)
        if replay is None:
            raise NotFoundError(f"there is no replay {replay_id}")
        return replay


def _replay(row: asyncpg.Record) -> Replay:
    columns = dict(row)
    now = columns.pop("now")
    return end_of(Replay(**columns | {"state": ReplayState(row["state"])}), now)
