"""Channels of teams, and what was delivered to them. See `domain.ports.alerts`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from uuid import UUID

import asyncpg
import msgspec

from matins.domain.alerts.channels import Channel, ChannelRecord
from matins.domain.alerts.deliveries import Delivery, Try
from matins.domain.ports.alerts import Resealed
from matins.domain.values.errors import NotFoundError
from matins.domain.values.names import check_name
from matins.store.database import Database
from matins.store.queries import load_queries

_Q = load_queries("channels.sql")


class PostgresChannels:
    """The channels of all teams."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_team(self, team: str) -> list[ChannelRecord]:
        """Return a team's channels by name."""
        check_name("team", team)
        rows = await self._database.fetch(_Q["of_team"], team=team, name=None)
        return [_record(row) for row in rows]

    async def show(self, team: str, name: str) -> ChannelRecord:
        """Return a channel. Raises NotFoundError."""
        check_name("team", team)
        check_name("name", name)
        rows = await self._database.fetch(_Q["of_team"], team=team, name=name)
        if not rows:
            raise _unknown(team, name)
        return _record(rows[0])

    async def deliveries(self, team: str, channel: str | None, limit: int) -> list[Delivery]:
        """Return the newest messages to a team, or to one channel of it."""
        check_name("team", team)
        args = {"team": team, "channel": channel, "limit": limit}
        return [_delivery(row) for row in await self._database.fetch(_Q["deliveries"], **args)]

    async def delivery(self, delivery: UUID) -> Delivery:
        """Return a message with its tries. Raises NotFoundError."""
        row = await self._database.fetchrow(_Q["delivery"], id=delivery)
        if row is None:
            raise NotFoundError(f"there is no delivery {delivery}")
        return _delivery(row)

    async def put(
        self, team: str, channel: Channel, seal: Callable[[str | None], Resealed]
    ) -> tuple[ChannelRecord, bool]:
        """See `domain.ports.alerts.ChannelStore`."""
        async with self._database.transaction() as session:
            await self._database.make_team(session, team)
            [row] = await self._run(session, "lock", team=team, name=channel.name)
            sealed, is_changed = seal(row["sealed"])
            await self._run(
                session,
                "write",
                team_id=row["team_id"],
                name=channel.name,
                kind=channel.kind,
                scheme=channel.scheme,
                sealed=sealed,
                is_changed=is_changed,
            )
            if is_changed:
                await self._run(session, "watch", team_id=row["team_id"])
        return await self.show(team, channel.name), row["id"] is not None

    async def reseal(self, team: str, name: str, seal: Callable[[str], str]) -> ChannelRecord:
        """See `domain.ports.alerts.ChannelStore`."""
        async with self._locked(team, name) as (session, row):
            await self._run(session, "reseal", id=row["id"], sealed=seal(row["sealed"]))
        return await self.show(team, name)

    async def delete(self, team: str, name: str) -> ChannelRecord:
        """See `domain.ports.alerts.ChannelStore`."""
        record = await self.show(team, name)
        async with self._locked(team, name) as (session, row):
            await self._run(session, "stop_watching", team_id=row["team_id"], id=row["id"])
            await self._run(session, "delete", id=row["id"])
        return record

    async def add_test(self, team: str, name: str, delivery: UUID) -> Delivery:
        """See `domain.ports.alerts.ChannelStore`."""
        await self.show(team, name)
        await self._database.fetch(_Q["add_test"], team=team, name=name, id=delivery)
        return await self.delivery(delivery)

    @asynccontextmanager
    async def _locked(
        self, team: str, name: str
    ) -> AsyncIterator[tuple[asyncpg.pool.PoolConnectionProxy, asyncpg.Record]]:
        async with self._database.transaction() as session:
            rows = await self._run(session, "lock", team=team, name=name)
            if not rows or rows[0]["id"] is None:
                raise _unknown(team, name)
            yield session, rows[0]

    async def _run(
        self, session: asyncpg.pool.PoolConnectionProxy, query: str, **args: object
    ) -> list[asyncpg.Record]:
        return await self._database.run(session, _Q[query], **args)


def _unknown(team: str, name: str) -> NotFoundError:
    return NotFoundError(f"team {team} has no channel {name!r}")


def _record(row: asyncpg.Record) -> ChannelRecord:
    return ChannelRecord(**dict(row))


def _delivery(row: asyncpg.Record) -> Delivery:
    tries = msgspec.json.decode(row["tries"], type=list[Try])
    columns = dict(row) | {"tries": tries}
    if row["ended_at"] is not None:
        columns["send_at"] = None
    return Delivery(**columns)
