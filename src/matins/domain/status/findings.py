"""What is told of the whole system: what is wrong with it, and the figures beside."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal

import msgspec

from matins.domain.status.facts import LiveRuns, PoolStatus

Grade = Literal["failing", "degraded"]
"""`failing`: what is due does not happen. `degraded`: it does, later or with less around it."""


class FindingKind(StrEnum):
    """What may be wrong."""

    DATABASE = "database"
    SCHEDULERS = "schedulers"
    PARTITIONS = "partitions"
    CLAIMS = "claims"
    EXECUTORS = "executors"
    UNSERVED = "unserved"
    BACKLOG = "backlog"
    RESTORE = "restore"
    CACHE = "cache"
    OUTPUT = "output"
    CHANNEL = "channel"


class Finding(msgspec.Struct, frozen=True):
    """One thing that is wrong, of which `kind` and `subject` (such as a pool) are the name.

    `since`: when it began; None: it has been so for as long as anything is known. `what` is wrong,
    and `remedy` says what to do.
    """

    kind: FindingKind
    grade: Grade
    since: datetime | None
    what: str
    remedy: str
    subject: str = ""

    @property
    def key(self) -> tuple[FindingKind, str]:
        """By which it is the same finding, for as long as it lasts."""
        return self.kind, self.subject


class SystemStatus(msgspec.Struct, frozen=True):
    """The whole system at one look; it `is_well` if nothing was found.

    Figures are those of the last look at which the database answered. `partitions_held` of the 256
    have a scheduler. The oldest fire time that may lack its row is `unclaimed_since`, and so many
    jobs are `overdue`, counted up to 100 for each partition. Nothing else is counted beyond 10,000.
    """

    judged_at: datetime
    is_well: bool
    findings: list[Finding]
    schedulers: int = 0
    partitions_held: int = 0
    unclaimed_since: datetime | None = None
    overdue: int = 0
    pools: list[PoolStatus] = []
    runs: LiveRuns = LiveRuns()
    dead_letters: int = 0


def beside_channels(status: SystemStatus) -> list[Finding]:
    """Return what is wrong with Matins itself: that alerts don't arrive makes no further alerts."""
    return [finding for finding in status.findings if finding.kind is not FindingKind.CHANNEL]
