"""Limits of concurrency keys and quotas of teams. See `domain.ports.limits`."""

from __future__ import annotations

import asyncpg

from matins.domain.jobs.limit_views import LimitRecord, Quota, QuotasRecord
from matins.domain.jobs.limits import Limit, Quotas
from matins.domain.values.errors import NotFoundError
from matins.domain.values.names import check_name
from matins.store.database import Database
from matins.store.queries import load_queries

_Q = load_queries("limits.sql")


class PostgresLimits:
    """The gates of all teams, as their owners see them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_team(self, team: str) -> list[LimitRecord]:
        """Return the gates of a team's keys, then those of its jobs, by name."""
        check_name("team", team)
        return await self._records(team, None)

    async def show(self, team: str, key: str) -> LimitRecord:
        """Return the gate of a key. Raises NotFoundError."""
        check_name("team", team)
        check_name("key", key)
        records = await self._records(team, key)
        if not records:
            raise NotFoundError(f"team {team} has no limit {key!r}, and none of its jobs names it")
        return records[0]

    async def quotas(self, team: str) -> QuotasRecord:
        """Return the quotas of a team beside their use. Raises NotFoundError."""
        check_name("team", team)
        row = await self._database.fetchrow(_Q["quotas"], team=team)
        if row is None:
            raise NotFoundError(f"there is no team {team!r}")
        has_gate = row["run_limit"] is not None or row["rate"] is not None
        starts = _starts(row["rate"])
        return QuotasRecord(
            team,
            Quota(row["max_jobs"], row["jobs"], row["set_jobs"] is None),
            Quota(row["run_limit"], row["used"] if has_gate else None, row["set_limit"] is None),
            Quota(starts, row["starts"] if starts else None, row["set_rate"] is None),
            row["waiting"],
        )

    async def put_limit(self, team: str, limit: Limit) -> tuple[Limit | None, int]:
        """See `domain.ports.limits.LimitChanges`."""
        async with self._database.transaction() as session:
            await self._database.make_team(session, team)
            await self._database.run(session, _Q["make"], team=team, name=limit.key)
            [row] = await self._lock(session, team, "key", limit.key)
            await self._write(session, row["id"], limit.limit, limit.rate)
        return _limit(row, limit.key), row["id"]

    async def delete_limit(self, team: str, key: str) -> tuple[Limit | None, int]:
        """See `domain.ports.limits.LimitChanges`."""
        async with self._database.transaction() as session:
            rows = await self._lock(session, team, "key", key)
            if not rows:
                return None, 0
            await self._write(session, rows[0]["id"], None, None)
        return _limit(rows[0], key), rows[0]["id"]

    async def put_quotas(self, team: str, quotas: Quotas) -> tuple[Quotas, int]:
        """See `domain.ports.limits.LimitChanges`."""
        async with self._database.transaction() as session:
            await self._database.make_team(session, team)
            [row] = await self._lock(session, team, "team", "")
            await self._write(session, row["id"], quotas.max_running, quotas.rate)
            await self._database.run(
                session, _Q["write_max_jobs"], team_id=row["team_id"], max_jobs=quotas.max_jobs
            )
        return Quotas(row["max_jobs"], row["set_limit"], _starts(row["set_rate"])), row["id"]

    async def write_defaults(self, quotas: Quotas) -> None:
        """Let teams without quotas of their own have these."""
        await self._database.fetch(
            _Q["write_defaults"],
            max_jobs=quotas.max_jobs,
            max_running=quotas.max_running,
            rate=quotas.rate,
        )

    async def _lock(
        self, session: asyncpg.pool.PoolConnectionProxy, team: str, kind: str, name: str
    ) -> list[asyncpg.Record]:
        return await self._database.run(session, _Q["lock"], team=team, kind=kind, name=name)

    async def _write(
        self,
        session: asyncpg.pool.PoolConnectionProxy,
        gate_id: int,
        limit: int | None,
        rate: str | None,
    ) -> None:
        await self._database.run(session, _Q["write"], id=gate_id, limit=limit, rate=rate)

    async def _records(self, team: str, name: str | None) -> list[LimitRecord]:
        rows = await self._database.fetch(_Q["kept"], team=team, name=name)
        return [
            LimitRecord(
                kind=row["kind"],
                name=row["name"],
                limit=row["run_limit"],
                rate=row["rate"],
                set=row["is_set"],
                used=row["used"],
                waiting=row["waiting"],
                next_start_at=row["next_start_at"],
            )
            for row in rows
        ]


def _limit(row: asyncpg.Record, key: str) -> Limit | None:
    if row["set_limit"] is None and row["set_rate"] is None:
        return None
    return Limit(key, row["set_limit"], row["set_rate"])


def _starts(rate: str | None) -> int | None:
    return None if rate is None else int(rate.removesuffix("/m"))
