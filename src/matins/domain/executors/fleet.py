"""What is behind the jobs: who claims and who executes, and why what is due has not happened yet.

It is judged from rows and the database's clock alone, so that it is told rightly also where
schedulers are frozen and nobody is left to say so.
"""

from __future__ import annotations

from collections.abc import Container
from datetime import UTC, datetime, timedelta

import msgspec

from matins.domain.executors.protocol import RunStatus
from matins.domain.jobs.spec import Job, JobState
from matins.domain.runs.states import RunState
from matins.domain.values.durations import format_duration
from matins.domain.values.ids import partition_of

LATE = timedelta(minutes=1)
"""A fire time that is longer ago and has no row is overdue; so is a retry that was not begun."""

STALLED = timedelta(minutes=5)
"""What has waited longer on the queue of its pool is stalled."""

SILENT = timedelta(minutes=1)
"""An executor without a heartbeat for so long serves nobody, whether declared lost or not."""


class Fleet(msgspec.Struct, frozen=True):
    """Who was alive at one moment of the database's clock.

    `held` are the partitions that some scheduler holds; `watermarks` say up to where all fire times
    of a partition have their rows. `seen_at`: when a scheduler renewed its leases last.
    `executors`: how many serve each pool. `queued_since`: how long each pool's queue reaches back.
    """

    now: datetime
    held: frozenset[int] = frozenset()
    watermarks: dict[int, datetime] = {}
    seen_at: datetime | None = None
    executors: dict[str, int] = {}
    queued_since: dict[str, datetime] = {}

    def why_unclaimed(self, partition: int) -> str:
        """Why what is due in a partition has no rows yet."""
        if not self.held:
            return f"no scheduler is alive; {last_seen(self.seen_at)}"
        if partition not in self.held:
            return f"no scheduler holds partition {partition}"
        return f"the scheduler of partition {partition} is behind"

    def why_queued(self, pool: str) -> str:
        """Why runs of a pool are not handed out, as far as it can be seen."""
        serving = self.executors.get(pool, 0)
        if not serving:
            return _unserved(pool)
        if not self.is_stalled(pool):
            return ""
        waits = format_duration((self.now - self.queued_since[pool]).total_seconds() // 1)
        return f"the queue of pool {pool} is {waits} long; executors that serve it: {serving}"

    def is_stalled(self, pool: str) -> bool:
        """Return whether something has waited too long on the queue of a pool."""
        return self.now - self.queued_since.get(pool, self.now) > STALLED

    def overdue(self, job: Job) -> str:
        """Why a job has not been claimed though it was due over a minute ago; empty if it was."""
        fires = job.next_fire_at
        if job.state is not JobState.ACTIVE or fires is None or self.now - fires <= LATE:
            return ""
        partition = partition_of(job.id)
        if fires <= self.watermarks.get(partition, fires - LATE):
            return ""  # it was claimed; its next due time is written a little later
        return self.why_unclaimed(partition)


def why_waits(run: RunStatus, pool: str, served: Container[str]) -> str:
    """Return the reason of a run: what its row says, and if it is queued that no executor takes
    it.
    """
    if pool in served or run.state is not RunState.QUEUED:
        return run.reason
    return f"{run.reason}; {_unserved(pool)}".removeprefix("; ")


def _unserved(pool: str) -> str:
    return f"no executor serves pool {pool}"


def last_seen(at: datetime | None) -> str:
    """Return when a scheduler was last seen, in words."""
    return "none was ever seen" if at is None else f"the last was seen at {instant(at)}"


def instant(at: datetime) -> str:
    """Return an instant in a message, in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
