"""An alarm for old snapshots: they keep every version of every row, and make all reads dearer."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import structlog

from matins.domain.ports import Clock
from matins.domain.ports.upkeep import Snapshots
from matins.kernel.metrics import OLD_SNAPSHOT

OLD: Final = timedelta(minutes=5)
"""From this age on, a snapshot is logged as an error."""

log = structlog.get_logger()


class SnapshotWatch:
    """Looks who holds the oldest snapshot: a report, a backup, a forgotten BEGIN, a standby."""

    def __init__(self, snapshots: Snapshots, clock: Clock) -> None:
        self._snapshots = snapshots
        self._clock = clock
        self._seen: tuple[str, str] = ("", "")
        self._seen_s = 0.0

    async def look(self) -> None:
        """Look once: log who holds back the clean-up, and set the metric to the snapshot's age.

        A snapshot that doesn't tell its beginning counts from when it was seen first.
        """
        oldest = await self._snapshots.oldest_snapshot()
        now_s = self._clock.elapsed_s()
        seen = (oldest.holder, oldest.xmin) if oldest else ("", "")
        if seen != self._seen:
            self._seen, self._seen_s = seen, now_s
        age_s = now_s - self._seen_s if oldest else 0.0
        if oldest and oldest.since:
            age_s = max(age_s, (oldest.now - oldest.since).total_seconds())
        OLD_SNAPSHOT.set(age_s)
        if age_s >= OLD.total_seconds():
            log.error("snapshot.old", holder=seen[0], age_s=round(age_s), xmin=seen[1])
