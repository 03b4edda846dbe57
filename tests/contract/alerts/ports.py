"""The ports of alerts on memory and on PostgreSQL, and what a test sees of their rows."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple, Protocol
from uuid import UUID

import asyncpg
import msgspec

from matins.domain.alerts.deliveries import Delivery, Notice
from matins.domain.alerts.edges import RuleStanding
from matins.domain.alerts.views import ChannelNotice
from matins.domain.ports.alerts import ChannelStore, CheckinStore, Lookout, Outbox, RuleStore
from matins.store.alert_reads import PostgresAlerts
from matins.store.alerts import PostgresLookout
from matins.store.channels import PostgresChannels
from matins.store.checkins import PostgresCheckins
from matins.store.database import Database
from matins.store.outbox import PostgresOutbox
from matins.store.timings import KnownCalendars
from matins.testing.memory.channels import MemoryChannels, MemoryTeamRules, shown
from matins.testing.memory.checkins import MemoryCheckins
from matins.testing.memory.lookout import MemoryLookout
from matins.testing.memory.outbox import MemoryOutbox
from matins.testing.memory.world import World


class Watch(NamedTuple):
    """What is known of a watched job."""

    look_at: datetime
    looked_at: datetime | None
    made_at: datetime
    expect_from: datetime
    succeeded_at: datetime | None
    took_s: float
    revision: int
    was_active: bool


class Checkin(NamedTuple):
    """A check-in."""

    made_at: datetime
    next_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    state: str


class AlertRows(Protocol):
    """What a test sees beside the ports."""

    async def watch(self, job: UUID) -> Watch | None:
        """Return what is known of a job, if it is watched."""

    async def standings(self, job: UUID) -> dict[str, RuleStanding]:
        """Return how a job stands by its rules."""

    async def notices(self) -> list[ChannelNotice]:
        """Return what was told, by time, channel and rule; the names of jobs are left out."""

    async def deliveries(self) -> list[Delivery]:
        """Return all messages, by time and channel."""

    async def checkin(self, job: UUID) -> Checkin | None:
        """Return what was told of a check-in."""


class AlertPorts(NamedTuple):
    """One implementation of the ports of alerts."""

    lookout: Lookout
    outbox: Outbox
    channels: ChannelStore
    rules: RuleStore
    checkins: CheckinStore
    rows: AlertRows


class MemoryAlertRows:
    """The rows of a world."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def watch(self, job: UUID) -> Watch | None:
        """See `AlertRows`."""
        row = self._world.alerts.watches.get(job)
        if row is None:
            return None
        return Watch(*(getattr(row, name) for name in Watch._fields))

    async def standings(self, job: UUID) -> dict[str, RuleStanding]:
        """See `AlertRows`."""
        return dict(sorted(self._world.alerts.standings.get(job, {}).items()))

    async def notices(self) -> list[ChannelNotice]:
        """See `AlertRows`."""
        tables = self._world.alerts
        return _in_order(
            ChannelNotice(
                msgspec.structs.replace(row.notice, job=""),
                tables.channels[channel].name,
                row.delivery_id,
                tables.deliveries[row.delivery_id].state,
            )
            for (channel, _), row in tables.notices.items()
        )

    async def deliveries(self) -> list[Delivery]:
        """See `AlertRows`."""
        rows = self._world.alerts.deliveries.values()
        shown_rows = [shown(self._world, row) for row in rows]
        return sorted(shown_rows, key=lambda row: (row.made_at, row.channel, row.id))

    async def checkin(self, job: UUID) -> Checkin | None:
        """See `AlertRows`."""
        row = self._world.alerts.checkins.get(job)
        if row is None:
            return None
        return Checkin(*(getattr(row, name) for name in Checkin._fields))


class PostgresAlertRows:
    """The rows of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._channels = PostgresChannels(database)

    async def watch(self, job: UUID) -> Watch | None:
        """See `AlertRows`."""
        columns = ", ".join(Watch._fields)
        rows = await self._rows(f"SELECT {columns} FROM watches WHERE job_id = $1", job)
        return Watch(*rows[0]) if rows else None

    async def standings(self, job: UUID) -> dict[str, RuleStanding]:
        """See `AlertRows`."""
        rows = await self._rows(
            'SELECT rule, standing::text FROM alerts WHERE job_id = $1 ORDER BY rule COLLATE "C"',
            job,
        )
        return {rule: msgspec.json.decode(standing, type=RuleStanding) for rule, standing in rows}

    async def notices(self) -> list[ChannelNotice]:
        """See `AlertRows`."""
        rows = await self._rows(
            "SELECT n.job_id, t.name AS team, '' AS job, n.rule, n.turn, n.at, n.since,"
            " n.why AS reason, n.run_id, c.name AS channel, d.id AS delivery, d.state"
            " FROM notices n JOIN deliveries d ON d.id = n.delivery_id"
            " JOIN channels c ON c.id = n.channel_id JOIN teams t ON t.id = d.team_id"
        )
        return _in_order(
            ChannelNotice(
                msgspec.convert(dict(list(row.items())[:9]), Notice),
                row["channel"],
                row["delivery"],
                row["state"],
            )
            for row in rows
        )

    async def deliveries(self) -> list[Delivery]:
        """See `AlertRows`."""
        rows = await self._rows(
            "SELECT d.id FROM deliveries d JOIN channels c ON c.id = d.channel_id"
            ' ORDER BY d.made_at, c.name COLLATE "C", d.id'
        )
        return [await self._channels.delivery(row["id"]) for row in rows]

    async def checkin(self, job: UUID) -> Checkin | None:
        """See `AlertRows`."""
        columns = ", ".join(Checkin._fields)
        rows = await self._rows(f"SELECT {columns} FROM checkins WHERE job_id = $1", job)
        return Checkin(*rows[0]) if rows else None

    async def _rows(self, sql: str, *arguments: object) -> list[asyncpg.Record]:
        async with self._database.session() as session:
            found: list[asyncpg.Record] = await session.fetch(sql, *arguments)
        return found


def _in_order(notices: Iterable[ChannelNotice]) -> list[ChannelNotice]:
    return sorted(
        notices,
        key=lambda row: (row.notice.at, row.channel, row.notice.job_id, row.notice.rule),
    )


def memory_alerts(world: World) -> AlertPorts:
    """Return the ports over a world."""
    return AlertPorts(
        MemoryLookout(world),
        MemoryOutbox(world),
        MemoryChannels(world),
        MemoryTeamRules(world),
        MemoryCheckins(world),
        MemoryAlertRows(world),
    )


def postgres_alerts(database: Database) -> AlertPorts:
    """Return the ports over a database."""
    return AlertPorts(
        PostgresLookout(database, KnownCalendars()),
        PostgresOutbox(database),
        PostgresChannels(database),
        PostgresAlerts(database),
        PostgresCheckins(database),
        PostgresAlertRows(database),
    )
