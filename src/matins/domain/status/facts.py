"""What is read of the whole system in one look."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from matins.domain.runs.restores import Restore

COUNT_MAX: Final = 10_000
"""Nothing is counted further, so that a look costs little whatever the backlog is."""

OVERDUE_MAX: Final = 100
"""Of each partition, no more jobs are counted that are overdue."""


class PoolStatus(msgspec.Struct, frozen=True):
    """The queue of a pool, and who serves it.

    `executors` have sent a heartbeat lately; `heard_at` is the last one of any that is still known.
    `queued` runs are on the queue, counted up to 10,000; its first one waits since `queued_since`,
    or since its team had its turn.
    """

    pool: str
    executors: int = 0
    heard_at: datetime | None = None
    queued: int = 0
    queued_since: datetime | None = None


class FailingChannel(msgspec.Struct, frozen=True):
    """A channel of a team to which nothing has arrived since then, and why."""

    name: str
    failing_since: datetime
    failure: str


class LiveRuns(msgspec.Struct, frozen=True):
    """How many runs are in each state that does not last; each is counted up to 10,000."""

    waiting: int = 0
    queued: int = 0
    running: int = 0
    retrying: int = 0


class SystemFacts(msgspec.Struct, frozen=True):
    """What the rows say at one moment of the database's clock.

    Some scheduler was last seen at `seen_at`; the one that is alive for longest began at
    `began_at`. `without_holder` are the partitions that no scheduler holds; all of their fire times
    have rows up to `uncovered_since`. The oldest fire time that may lack its row is
    `unclaimed_since`, and `behind_since` among the partitions that have a holder. So many jobs are
    `overdue`, of which 100 are counted for each partition. Of the channels that fail, the first are
    told.
    """

    now: datetime
    schedulers: int = 0
    began_at: datetime | None = None
    seen_at: datetime | None = None
    without_holder: list[int] = []
    uncovered_since: datetime | None = None
    unclaimed_since: datetime | None = None
    behind_since: datetime | None = None
    overdue: int = 0
    has_due_jobs: bool = False
    pools: list[PoolStatus] = []
    runs: LiveRuns = LiveRuns()
    dead_letters: int = 0
    restore: Restore | None = None
    failing_channels: list[FailingChannel] = []
