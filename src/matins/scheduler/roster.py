"""The scheduler's memory of the jobs and waiting runs of its partitions, and what of it is due."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Iterable
from datetime import datetime
from heapq import heappop, heappush
from typing import Final
from uuid import UUID

from matins.domain.jobs.misfire import ON_TIME
from matins.domain.jobs.spec import JobState
from matins.domain.runs.admission.waiting import Waiting
from matins.domain.runs.claims import Advance, DueJob
from matins.scheduler.planning import Entry, instant_of, seconds_of
from matins.scheduler.wheel import Wheel

_ON_TIME_S: Final = ON_TIME.total_seconds()


class Roster:
    """What is known of the partitions held, and only of them; on any doubt a partition is dropped
    and loaded again.

    An entry stays in memory for as long as the database could tell an older story of its job: one
    whose next fire time lies beyond the horizon leaves after its next due time was written.
    """

    def __init__(self) -> None:
        self.loaded: dict[int, int] = {}
        """The partitions in memory, each with the epoch of the lease under which it was loaded."""
        self.horizon_s = 0
        """Fire times up to this second are in the wheel."""
        self.entries: dict[UUID, Entry] = {}
        self.waiting: dict[UUID, Waiting] = {}
        self.wheel = Wheel()
        self.due: deque[Entry] = deque()
        """Fired and on time."""
        self.late: deque[Entry] = deque()
        """Fired late: claimed after what is on time."""
        self.due_waiting: deque[Waiting] = deque()
        self.doubtful: set[UUID] = set()
        """Jobs to be read again, since a claim of theirs was stale."""
        self.poisoned: dict[UUID, tuple[int, str]] = {}
        """Jobs to be quarantined: revision and reason."""
        self.moved: dict[UUID, Entry] = {}
        """Entries whose next due time is still to be written."""
        self.overdue = asyncio.Event()
        """Set when something was put into a slot that has been fired already."""
        self.more_waiting = False
        """Whether more is to be asked about soon than was read at once."""
        self.unread: set[int] = set()
        """Partitions with runs that were forgotten and still wait: to be read once more."""
        self.room = asyncio.Event()
        """Set when all runs in memory that were to be asked about are, and there are more."""
        self.doubts = asyncio.Event()
        """Set when there is something doubtful or poisoned."""
        self._ripening: list[tuple[datetime, UUID]] = []
        self._leaving: list[Entry] = []
        self._fired_s = 0

    def put(self, job: DueJob) -> None:
        """Take in a job as the database tells it; news of a revision that is known change nothing.

        A job that can't be compiled is poisoned and stays outside.
        """
        known = self.entries.get(job.id)
        if known is not None and known.job.revision >= job.revision:
            self._arm(known)
            return
        poison = self.poisoned.get(job.id)
        if poison is None or poison[0] < job.revision:
            self.replace(job)

    def replace(self, job: DueJob) -> None:
        """Forget what was known of a job and take it in anew, if it can be due at all."""
        self.forget(job.id)
        if job.state is not JobState.ACTIVE or job.next_due_at is None:
            return
        try:
            entry = Entry(job)
        except Exception as error:  # whatever it is, it must not stop the others
            self.poison(job, error)
            return
        moved = self.moved.get(job.id)
        if moved is not None and moved.job.revision == job.revision:
            entry.catch_up_with(moved)
        if entry.fire_s <= self.horizon_s:
            self.entries[job.id] = entry
            self._arm(entry)

    def follow(self, job: DueJob) -> None:
        """Take in a job with the due time that was found to follow, and written, just now."""
        self.moved.pop(job.id, None)  # what it tells is older
        self.replace(job)

    def forget(self, job_id: UUID) -> None:
        """Drop a job; what was fired of it is no longer claimed."""
        entry = self.entries.pop(job_id, None)
        if entry is not None:
            entry.gone = True

    def poison(self, job: DueJob, error: Exception) -> None:
        """Take a job out, to be quarantined."""
        self.forget(job.id)
        self.poisoned[job.id] = (job.revision, f"{type(error).__name__}: {error}")
        self.doubts.set()

    def doubt(self, job_ids: Collection[UUID]) -> None:
        """Have jobs read again."""
        self.doubtful.update(job_ids)
        self.doubts.set()

    def put_waiting(self, waiting: Waiting) -> None:
        """Take in a run that is to be asked about when its time has come."""
        if self.waiting.get(waiting.run_id) != waiting:
            self.waiting[waiting.run_id] = waiting
            self._add(_begun(waiting), waiting.run_id)

    def ask_about(self, claimed: Iterable[Waiting]) -> None:
        """Take in runs that were claimed a moment ago, and are to be asked about at once."""
        for waiting in claimed:
            self.waiting[waiting.run_id] = waiting
            self.due_waiting.append(waiting)

    def fire(self, second: int) -> None:
        """Move all that is due up to a second from the wheel to the queues."""
        self._fired_s = max(second, self._fired_s)
        for slot, names in self.wheel.fire(second):
            queue = self.due if second - slot <= _ON_TIME_S else self.late
            for name in names:
                entry = self.entries.get(name)
                if entry is None:
                    waiting = self.waiting.get(name)
                    if waiting is not None and _begun(waiting) == slot:
                        heappush(self._ripening, (waiting.ready_at, name))
                elif entry.fire_s == slot and not entry.busy:
                    entry.armed = False
                    entry.busy = True
                    queue.append(entry)

    def ripen(self, now: datetime) -> datetime | None:
        """Let what waits come due whose time has come; returns when the next of those fired does.

        A wait of a second is not to last two, so they are not held to whole seconds.
        """
        while self._ripening and self._ripening[0][0] <= now:
            ready_at, name = heappop(self._ripening)
            waiting = self.waiting.get(name)
            if waiting is not None and waiting.ready_at == ready_at:
                self.due_waiting.append(waiting)
        return self._ripening[0][0] if self._ripening else None

    def settle(self, entry: Entry, next_s: int | None) -> None:
        """Go on with an entry whose due times up to `next_s` have their rows."""
        entry.move_to(next_s)
        entry.busy = False
        if entry.gone:
            self.moved.setdefault(entry.job.id, entry)
        else:
            self.moved[entry.job.id] = entry
            self._arm(entry)

    def drop_partitions(self, partitions: Collection[int]) -> None:
        """Forget all of some partitions, so that they are loaded again if still held."""
        gone = set(partitions)
        for partition in gone:
            self.loaded.pop(partition, None)
        for job_id in [it.job.id for it in self.entries.values() if it.job.partition in gone]:
            self.forget(job_id)
        for run_id in [it.run_id for it in self.waiting.values() if it.partition in gone]:
            del self.waiting[run_id]

    def take_advances(self, count: int) -> list[tuple[Entry, Advance]]:
        """Take out next due times to be written; give them back if that did not succeed."""
        taken = []
        for job_id in list(self.moved)[:count]:
            entry = self.moved.pop(job_id)
            taken.append((entry, _advance(entry)))
        return taken

    def give_back(self, entries: Iterable[Entry]) -> None:
        """Keep next due times that could not be written."""
        for entry in entries:
            self.moved.setdefault(entry.job.id, entry)

    def written(self, entries: Iterable[Entry]) -> None:
        """Note that next due times were written."""
        self._leaving.extend(entries)

    def let_go(self) -> None:
        """Drop what lies beyond the horizon and is written. Not while a read is under way, which
        could still tell the older story.
        """
        leaving, self._leaving = self._leaving, []
        for entry in leaving:
            idle = not entry.armed and not entry.busy and not entry.gone
            if idle and entry.job.id not in self.moved:
                self.forget(entry.job.id)

    def oldest_s(self) -> int | None:
        """The oldest fire time in the wheel and the queues."""
        seconds = [entry.fire_s for queue in (self.due, self.late) for entry in queue]
        first = self.wheel.first()
        if first is not None:
            seconds.append(first)
        return min(seconds, default=None)

    def _arm(self, entry: Entry) -> None:
        if not entry.armed and not entry.busy and entry.fire_s <= self.horizon_s:
            entry.armed = True
            self._add(entry.fire_s, entry.job.id)

    def _add(self, second: int, name: UUID) -> None:
        self.wheel.add(second, name)
        if second <= self._fired_s:
            self.overdue.set()


def _begun(waiting: Waiting) -> int:
    """The second in which a run is to be asked about."""
    return int(seconds_of(waiting.ready_at))


def _advance(entry: Entry) -> Advance:
    due = None if entry.due_s is None else instant_of(entry.due_s)
    fire = None if entry.due_s is None else instant_of(entry.fire_s)
    accounted = instant_of(entry.accounted_s)
    return Advance(entry.job.id, entry.job.revision, due, fire, accounted)
