"""What the API answers about alerts."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from matins.domain.alerts.deliveries import DeliveryState, Notice
from matins.domain.jobs.alerting import AlertRule, AlertRules


class Alert(msgspec.Struct, frozen=True):
    """A job that is bad by a rule, since when and why. `is_notified`: its owner was told so."""

    team: str
    job: str
    rule: str
    since: datetime
    reason: str
    is_notified: bool
    run_id: UUID | None = None


class AlertPage(msgspec.Struct, frozen=True):
    """Alerts, the newest first; at most 1000 of `total`."""

    alerts: list[Alert]
    total: int


class ChannelNotice(msgspec.Struct, frozen=True):
    """What was told of a job to a channel, and whether it has arrived."""

    notice: Notice
    channel: str
    delivery: UUID
    state: DeliveryState


class JobAlerts(msgspec.Struct, frozen=True):
    """The rules that a job is judged by, how it stands, and what was told of it lately.

    `looked_at`: when it was looked at last; None while its team has no channel.
    """

    team: str
    job: str
    rules: list[AlertRule]
    alerts: list[Alert]
    notices: list[ChannelNotice]
    looked_at: datetime | None = None


class AlertRulesChanged(msgspec.Struct, frozen=True):
    """What a request did to rules of a team."""

    rules: AlertRules
    change: Literal["created", "changed", "unchanged", "deleted"]
