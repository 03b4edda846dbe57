"""Rows of alerts in memory: channels, what is watched, how it stands, and the messages about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal
from uuid import UUID

from matins.domain.alerts.channels import ChannelKind
from matins.domain.alerts.deliveries import DeliveryKind, DeliveryState, Notice, Try
from matins.domain.alerts.edges import RuleStanding
from matins.domain.jobs.alerting import AlertRules


@dataclass(frozen=True, slots=True)
class ChannelRow:
    """A row of `channels`."""

    id: int
    team: str
    name: str
    kind: ChannelKind
    scheme: str
    sealed: str
    made_at: datetime
    taken_until: datetime | None = None
    delivered_at: datetime | None = None
    failing_since: datetime | None = None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class WatchRow:
    """A row of `watches`."""

    job_id: UUID
    team: str
    look_at: datetime
    made_at: datetime
    expect_from: datetime
    looked_at: datetime | None = None
    succeeded_at: datetime | None = None
    took_s: float = 0.0
    revision: int = 0
    was_active: bool = False
    bad_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    """A row of `deliveries`."""

    id: UUID
    channel_id: int
    team: str
    kind: DeliveryKind
    made_at: datetime
    send_at: datetime
    state: DeliveryState = "waiting"
    ended_at: datetime | None = None
    is_open: bool = False
    tries: tuple[Try, ...] = ()


@dataclass(frozen=True, slots=True)
class NoticeRow:
    """A row of `notices`; the name of the job is that which it has when the notice is read."""

    delivery_id: UUID
    notice: Notice


@dataclass(frozen=True, slots=True)
class CheckinRow:
    """A row of `checkins`."""

    job_id: UUID
    token_hash: bytes
    made_at: datetime
    next_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    state: Literal["", "succeeded", "dead"] = ""


@dataclass
class AlertTables:
    """All rows of alerts. A row is replaced when it changes."""

    channels: dict[int, ChannelRow] = field(default_factory=dict)
    rules: dict[tuple[str, str], AlertRules] = field(default_factory=dict)
    """By team and name."""
    watches: dict[UUID, WatchRow] = field(default_factory=dict)
    standings: dict[UUID, dict[str, RuleStanding]] = field(default_factory=dict)
    """By job and rule."""
    deliveries: dict[UUID, DeliveryRow] = field(default_factory=dict)
    notices: dict[tuple[int, UUID], NoticeRow] = field(default_factory=dict)
    """By channel and edge."""
    checkins: dict[UUID, CheckinRow] = field(default_factory=dict)
    channels_made: int = 0
    woken_until: datetime | None = None

    def copied(self) -> AlertTables:
        """Return a copy that shares no table with it."""
        return AlertTables(
            channels=dict(self.channels),
            rules=dict(self.rules),
            watches=dict(self.watches),
            standings={job: dict(rows) for job, rows in self.standings.items()},
            deliveries=dict(self.deliveries),
            notices=dict(self.notices),
            checkins=dict(self.checkins),
            channels_made=self.channels_made,
            woken_until=self.woken_until,
        )

    def channels_of(self, team: str) -> dict[str, ChannelRow]:
        """Return a team's channels by name, in that order."""
        rows = [row for row in self.channels.values() if row.team == team]
        return {row.name: row for row in sorted(rows, key=lambda row: row.name)}

    def rules_of(self, team: str) -> list[AlertRules]:
        """Return the rules that a team has set."""
        return [rules for (owner, _), rules in self.rules.items() if owner == team]

    def notices_of(self, delivery: UUID) -> Iterator[Notice]:
        """Yield what a message is about."""
        return (row.notice for row in self.notices.values() if row.delivery_id == delivery)

    def put(self, row: ChannelRow | WatchRow | DeliveryRow | CheckinRow) -> None:
        """Write a row."""
        match row:
            case ChannelRow():
                self.channels[row.id] = row
            case WatchRow():
                self.watches[row.job_id] = row
            case DeliveryRow():
                self.deliveries[row.id] = row
            case CheckinRow():
                self.checkins[row.job_id] = row

    def wake(self, watch: WatchRow, now: datetime) -> None:
        """Let a job be looked at now, unless it is to be already."""
        if watch.look_at > now:
            self.put(replace(watch, look_at=now))

    def stop_watching(self, job_id: UUID) -> None:
        """Forget how a job stands."""
        self.watches.pop(job_id, None)
        self.standings.pop(job_id, None)

    def delete_delivery(self, delivery: UUID) -> None:
        """Delete a message, with what it is about."""
        del self.deliveries[delivery]
        for key in [key for key, row in self.notices.items() if row.delivery_id == delivery]:
            del self.notices[key]
