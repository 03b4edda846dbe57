"""Channels and alert rules of teams, in memory. See `domain.ports.alerts`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

from matins.domain.alerts.channels import Channel, ChannelRecord
from matins.domain.alerts.deliveries import Delivery
from matins.domain.jobs.alerting import AlertRules
from matins.domain.jobs.spec import JobState
from matins.domain.ports.alerts import Resealed
from matins.domain.values.errors import NotFoundError
from matins.testing.memory.alert_rows import ChannelRow, DeliveryRow, WatchRow
from matins.testing.memory.world import World


class MemoryChannels:
    """The channels of a world."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def put(
        self, team: str, channel: Channel, seal: Callable[[str | None], Resealed]
    ) -> tuple[ChannelRecord, bool]:
        """See `domain.ports.alerts.ChannelStore`."""
        world, tables = self._world, self._world.alerts
        world.teams.setdefault(team, len(world.teams) + 1)
        before = tables.channels_of(team).get(channel.name)
        sealed, is_changed = seal(None if before is None else before.sealed)
        row = before
        tables.channels_made += 1  # PostgreSQL draws a number for each that is put
        if row is None:
            made = tables.channels_made, team, channel.name
            row = ChannelRow(*made, channel.kind, channel.scheme, sealed, world.now())
        row = replace(row, kind=channel.kind, scheme=channel.scheme, sealed=sealed)
        if is_changed:
            row = replace(row, failing_since=None, failure="")
        tables.put(row)
        if is_changed:
            self._watch(team)
        return self._record(row), before is not None

    async def reseal(self, team: str, name: str, seal: Callable[[str], str]) -> ChannelRecord:
        """See `domain.ports.alerts.ChannelStore`."""
        row = self._find(team, name)
        row = replace(row, sealed=seal(row.sealed))
        self._world.alerts.put(row)
        return self._record(row)

    async def delete(self, team: str, name: str) -> ChannelRecord:
        """See `domain.ports.alerts.ChannelStore`."""
        tables, row = self._world.alerts, self._find(team, name)
        record = self._record(row)
        for delivery in [each.id for each in tables.deliveries.values()]:
            if tables.deliveries[delivery].channel_id == row.id:
                tables.delete_delivery(delivery)
        del tables.channels[row.id]
        if not tables.channels_of(team):
            for job_id in [each.job_id for each in tables.watches.values() if each.team == team]:
                tables.stop_watching(job_id)
        return record

    async def add_test(self, team: str, name: str, delivery: UUID) -> Delivery:
        """See `domain.ports.alerts.ChannelStore`."""
        now, row = self._world.now(), self._find(team, name)
        test = DeliveryRow(delivery, row.id, team, "test", made_at=now, send_at=now)
        test = self._world.alerts.deliveries.setdefault(delivery, test)
        return shown(self._world, test)

    def _find(self, team: str, name: str) -> ChannelRow:
        row = self._world.alerts.channels_of(team).get(name)
        if row is None:
            raise NotFoundError(f"team {team} has no channel {name!r}")
        return row

    def _watch(self, team: str) -> None:
        """Let all jobs of a team be watched from now on that are not yet."""
        now, tables = self._world.now(), self._world.alerts
        for job in self._world.jobs.values():
            if job.team == team and job.state is not JobState.DELETED:
                tables.watches.setdefault(job.id, WatchRow(job.id, team, now, now, now))

    def _record(self, row: ChannelRow) -> ChannelRecord:
        deliveries = self._world.alerts.deliveries.values()
        return ChannelRecord(
            name=row.name,
            kind=row.kind,
            scheme=row.scheme,
            made_at=row.made_at,
            delivered_at=row.delivered_at,
            failing_since=row.failing_since,
            failure=row.failure,
            waiting=sum(each.channel_id == row.id and not each.ended_at for each in deliveries),
        )


class MemoryTeamRules:
    """The rules of the teams of a world."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def put_rules(self, team: str, rules: AlertRules) -> AlertRules | None:
        """See `domain.ports.alerts.RuleStore`."""
        world = self._world
        world.teams.setdefault(team, len(world.teams) + 1)
        before = world.alerts.rules.get((team, rules.name))
        world.alerts.rules[team, rules.name] = rules
        self._wake(team)
        return before

    async def delete_rules(self, team: str, name: str) -> AlertRules | None:
        """See `domain.ports.alerts.RuleStore`."""
        before = self._world.alerts.rules.pop((team, name), None)
        if before is not None:
            self._wake(team)
        return before

    def _wake(self, team: str) -> None:
        for watch in [row for row in self._world.alerts.watches.values() if row.team == team]:
            self._world.alerts.wake(watch, self._world.now())


def shown(world: World, row: DeliveryRow) -> Delivery:
    """Return a message as it is shown."""
    return Delivery(
        id=row.id,
        team=row.team,
        channel=world.alerts.channels[row.channel_id].name,
        kind=row.kind,
        state=row.state,
        made_at=row.made_at,
        notices=sum(1 for _ in world.alerts.notices_of(row.id)),
        tries=list(row.tries),
        send_at=row.send_at if row.ended_at is None else None,
        ended_at=row.ended_at,
    )
