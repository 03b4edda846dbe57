"""What schedulers tell each other, and operators, of themselves and of partitions."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import msgspec

from matins.domain.runs.restores import Restore


class Figures(msgspec.Struct, frozen=True):
    """What a scheduler tells of itself with each renewal of its lease."""

    name: str = ""
    """The host, or what the operator called it."""
    version: str = ""
    wheel_size: int = 0
    """How many jobs and waiting runs are in its memory for their time."""
    clock_offset_s: float = 0.0
    """How far the clock of its host is ahead of the database's. Nothing is decided by it."""
    lag_s: float = 0.0
    """How old its oldest due and unclaimed fire time is."""


NO_FIGURES = Figures()


class Offer(NamedTuple):
    """What has become of the partitions that a holder wants to give up."""

    ready: set[int]
    """Those whose successor has loaded their jobs."""
    others: int
    """How many schedulers could take over."""


class SchedulerRecord(msgspec.Struct, frozen=True):
    """A scheduler, as it told of itself with its last renewal.

    `state` is `alive`, `leaving`, or `gone`: its lease has run out. A version that tells nothing of
    itself has None.
    """

    id: UUID
    name: str
    version: str
    state: str
    since: datetime | None
    lease_age_s: float
    """How long ago its lease was renewed."""
    lease_left_s: float
    """For how much longer it is granted; below zero it has run out."""
    partitions: list[int]
    min_epoch: int | None = None
    max_epoch: int | None = None
    watermark: datetime | None = None
    """All fire times up to here, in each of its partitions, have their rows."""
    wheel_size: int | None = None
    clock_offset_s: float | None = None
    """How far the clock of its host is ahead of the database's. Nothing is decided by it."""
    lag_s: float | None = None


class Cluster(msgspec.Struct, frozen=True):
    """All schedulers, and the partitions that none of them holds: their jobs don't fire."""

    schedulers: list[SchedulerRecord]
    without_holder: list[int]
    watermark: datetime | None = None
    restore: Restore | None = None
    """The restore from a backup about which nobody has decided yet."""
