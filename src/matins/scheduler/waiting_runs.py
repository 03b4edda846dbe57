"""The part of the working set that is asked about: runs that wait, until their time comes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from heapq import heappop, heappush
from itertools import islice
from typing import Final
from uuid import UUID

from matins.domain.runs.admission.waiting import Waiting
from matins.domain.time.instants import SECOND

_NEVER: Final = datetime.min.replace(tzinfo=UTC)


class WaitingRuns:
    """The waiting runs of the partitions in memory whose time comes soon."""

    def __init__(self, *, overdue: asyncio.Event, unread: asyncio.Event) -> None:
        """`overdue` is set when a run's second has begun, `unread` when more is to be read."""
        self._overdue = overdue
        self._unread = unread
        self._known: dict[UUID, Waiting] = {}
        self._coming: list[tuple[datetime, UUID]] = []
        self._ready: deque[Waiting] = deque()
        self._looked_until = _NEVER
        self._deferred: set[int] = set()
        self._has_more = False

    def __contains__(self, run_id: UUID) -> bool:
        return run_id in self._known

    @property
    def coming_count(self) -> int:
        """How many wait for their time."""
        return len(self._coming)

    def put(self, waiting: Waiting) -> None:
        """Put a run that is to be asked about when its time has come."""
        if self._known.get(waiting.run_id) != waiting:
            self._known[waiting.run_id] = waiting
            heappush(self._coming, (waiting.ready_at, waiting.run_id))
            if waiting.ready_at < self._looked_until:
                self._overdue.set()

    def ask_about(self, claimed: Iterable[Waiting]) -> None:
        """Put runs that were claimed a moment ago, and are to be asked about at once."""
        for waiting in claimed:
            self._known[waiting.run_id] = waiting
            self._ready.append(waiting)

    def collect_ready(self, now: datetime) -> datetime | None:
        """Let runs come due whose time has come; return when the next one does.

        A wait of a second is not to last two, so they are not held to whole seconds.
        """
        second_end = now.replace(microsecond=0) + SECOND
        self._looked_until = max(second_end, self._looked_until)
        while self._coming and self._coming[0][0] <= now:
            ready_at, run_id = heappop(self._coming)
            waiting = self._known.get(run_id)
            if waiting is not None and waiting.ready_at == ready_at:
                self._ready.append(waiting)
        return self._coming[0][0] if self._coming else None

    def ready(self, count: int) -> Sequence[Waiting]:
        """Return the first runs that are to be asked about; they stay until `drop_ready`."""
        return list(islice(self._ready, count))

    def drop_ready(self, count: int) -> None:
        """Drop the first runs that were to be asked about, since they have been."""
        for _ in range(count):
            self._ready.popleft()
        if not self._ready and self._has_more:
            self._unread.set()

    def forget(self, waiting: Waiting) -> None:
        """Forget a run, unless it has come anew since."""
        if self._known.get(waiting.run_id) == waiting:
            del self._known[waiting.run_id]

    def defer(self, waiting: Waiting) -> None:
        """Forget a run that could not be decided about; its partition is read once more."""
        self.forget(waiting)
        self._deferred.add(waiting.partition)

    def take_deferred(self) -> set[int]:
        """Take the partitions whose waiting runs have to be read once more."""
        deferred, self._deferred = self._deferred, set()
        return deferred

    def note_read(self, *, has_more: bool) -> None:
        """Note that they were read; `has_more`: there are more than were read at once."""
        self._has_more = has_more

    def drop_partitions(self, partitions: Collection[int]) -> None:
        """Forget all of some partitions."""
        for run_id in [run.run_id for run in self._known.values() if run.partition in partitions]:
            del self._known[run_id]
