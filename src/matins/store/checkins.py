"""Check-ins: their tokens, and the runs that are told by them. See `domain.ports.alerts`."""

from __future__ import annotations

from typing import Final
from uuid import UUID

import asyncpg

from matins.domain.alerts.checkins import AHEAD, PACE, CheckinRecord
from matins.domain.ports.alerts import Pinged, TakenPing
from matins.domain.runs.fingerprint import failure_of
from matins.domain.runs.states import Outcome, RunState
from matins.domain.values.errors import NotFoundError
from matins.domain.values.names import check_name
from matins.store.chains import wake_followers
from matins.store.database import Database
from matins.store.days import with_days
from matins.store.queries import load_queries

_Q = load_queries("checkins.sql")
_NOBODY: Final = UUID(int=0)
"""Stands for the executor, of which there is none."""


class PostgresCheckins:
    """The check-ins of all teams."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_team(self, team: str) -> list[CheckinRecord]:
        """Return a team's check-ins by name."""
        check_name("team", team)
        rows = await self._database.fetch(_Q["of_team"], team=team, name=None)
        return [CheckinRecord(**dict(row)) for row in rows]

    async def show(self, team: str, name: str) -> CheckinRecord:
        """Return a check-in. Raises NotFoundError."""
        check_name("team", team)
        check_name("job", name)
        row = await self._database.fetchrow(_Q["of_team"], team=team, name=name)
        if row is None:
            raise NotFoundError(f"team {team} has no check-in {name!r}")
        return CheckinRecord(**dict(row))

    async def rotate(self, team: str, name: str, token_hash: bytes) -> bool:
        """See `domain.ports.alerts.CheckinStore`."""
        args = {"team": team, "name": name, "token_hash": token_hash}
        return await self._database.fetchrow(_Q["rotate"], **args) is not None

    async def take(self, token_hash: bytes, *, begins: bool) -> TakenPing | None:
        """See `domain.ports.alerts.CheckinStore`."""
        row = await self._database.fetchrow(
            _Q["take"], token_hash=token_hash, begins=begins, pace=PACE, ahead=AHEAD
        )
        return None if row is None else TakenPing(row["job_id"], row["now"], row["started_at"])

    async def knows(self, token_hash: bytes) -> bool:
        """See `domain.ports.alerts.CheckinStore`."""
        return await self._database.fetchrow(_Q["known"], token_hash=token_hash) is not None

    async def record(self, pinged: Pinged) -> bool:
        """See `domain.ports.alerts.CheckinStore`."""
        result, due_at = pinged.result, pinged.due_at
        is_success = result.outcome is Outcome.SUCCEEDED

        async def insert() -> asyncpg.Record | None:
            return await self._database.fetchrow(
                _Q["record"],
                run_id=pinged.run_id,
                job_id=pinged.taken.job_id,
                due_at=due_at,
                at=pinged.taken.now,
                started_at=pinged.started_at,
                state=RunState.SUCCEEDED if is_success else RunState.DEAD,
                reason=result.reason,
                executor=_NOBODY,
                outcome=result.outcome,
                exit_code=result.exit_code,
                output=result.output,
                output_cut=result.output_cut,
                fingerprint=None if is_success else failure_of(result).fingerprint,
            )

        row = await with_days(self._database, [due_at], insert)
        if row is None:
            return False
        await wake_followers(self._database)
        return True
