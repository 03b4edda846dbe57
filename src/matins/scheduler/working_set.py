"""The scheduler's working set: the jobs and waiting runs of its partitions, and which are due."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from math import inf
from types import MappingProxyType
from typing import Final
from uuid import UUID

from matins.domain.jobs.misfire import ON_TIME
from matins.domain.jobs.spec import JobState
from matins.domain.runs.admission.open_runs import OpenRuns
from matins.domain.runs.claims import Advance, DueJob
from matins.scheduler.open_runs import KnownOpenRuns
from matins.scheduler.planning import LoadedJob, instant_of
from matins.scheduler.turns import Turns
from matins.scheduler.waiting_runs import WaitingRuns
from matins.scheduler.wheel import Wheel

_ON_TIME_S: Final = ON_TIME.total_seconds()


class WorkingSet:
    """What is known of the partitions in memory, and of no others; a partition that may be wrong
    is dropped, and loaded again.

    An entry stays until its advance is committed: before that, a reload returns a stale due time.
    """

    def __init__(self) -> None:
        self.overdue = asyncio.Event()
        """Set when something was put into a slot that has been fired already."""
        self.unread = asyncio.Event()
        """Set when there is something to be read: stale or quarantined jobs, or waiting runs that
        were left unread and for which there is room now.
        """
        self.uncertain_until_s = -inf
        """What was due up to here may have run, in a database that was restored since."""
        self._epochs: dict[int, int] = {}
        self._horizon_s = 0
        self._fired_s = 0
        self._wheel = Wheel()
        self._entries: dict[UUID, LoadedJob] = {}
        self._on_time = Turns()
        self._late = Turns()
        self._stale: set[UUID] = set()
        self._quarantined: dict[UUID, tuple[int, str]] = {}
        self._dirty: dict[UUID, LoadedJob] = {}
        self._flushed: list[LoadedJob] = []
        self.waiting = WaitingRuns(overdue=self.overdue, unread=self.unread)
        """The runs that wait, which are asked about when their time has come."""
        self.open_runs = KnownOpenRuns()
        """What admission found unfinished."""

    # Partitions

    @property
    def epochs(self) -> Mapping[int, int]:
        """The partitions in memory, each with the epoch of the lease under which it was loaded."""
        return MappingProxyType(self._epochs)

    def trusted(self, held: Mapping[int, int]) -> dict[int, int]:
        """Return those of the leases held under which a partition is in memory."""
        loaded = self._epochs
        if held == loaded:  # as nearly always
            return dict(held)
        return {key: epoch for key, epoch in held.items() if loaded.get(key) == epoch}

    def add_partitions(self, epochs: Mapping[int, int]) -> None:
        """Add partitions whose jobs are put from now on, with the epochs of their leases."""
        self._epochs.update(epochs)

    def drop_partitions(self, partitions: Collection[int]) -> None:
        """Forget all of some partitions, so that they are loaded again if still held."""
        gone = set(partitions)
        for partition in gone:
            self._epochs.pop(partition, None)
        entries = self._entries.values()
        for job_id in [entry.job.id for entry in entries if entry.job.partition in gone]:
            self.forget(job_id)
        self.waiting.drop_partitions(gone)
        self.open_runs.drop_partitions(gone)

    # The horizon

    @property
    def horizon_s(self) -> int:
        """Fire times up to this second are in the wheel."""
        return self._horizon_s

    def extend_horizon(self, second: int) -> None:
        """Take in fire times up to a second, from now on; what was put before is not armed anew."""
        self._horizon_s = second

    # Jobs

    def put(self, job: DueJob) -> None:
        """Put a job as the database tells it, unless this revision of it is known already.

        A job that can't be compiled is quarantined.
        """
        known = self._entries.get(job.id)
        if known is not None and known.job.revision >= job.revision:
            self._arm(known)  # memory is ahead of the row, which is written after the claim
            return
        quarantined = self._quarantined.get(job.id)
        if quarantined is None or quarantined[0] < job.revision:
            self.replace(job)

    def replace(self, job: DueJob) -> None:
        """Forget what was known of a job and put it anew, if it can be due at all."""
        self.forget(job.id)
        if job.state is not JobState.ACTIVE or job.next_due_at is None:
            return
        try:
            entry = LoadedJob(job)
        except Exception as error:  # whatever it is, it must not stop the others
            self.quarantine(job, error)
            return
        # The row may lack an advance that is not flushed yet: do not claim those due times again.
        dirty = self._dirty.get(job.id)
        if dirty is not None and dirty.job.revision == job.revision:
            entry.catch_up_with(dirty)
        if entry.fire_s <= self._horizon_s:
            self._entries[job.id] = entry
            self._arm(entry)

    def adopt(self, entry: LoadedJob) -> None:
        """Put a job that was read and compiled before its partition was held."""
        dirty = self._dirty.get(entry.job.id)
        if dirty is not None and dirty.job.revision == entry.job.revision:
            entry.catch_up_with(dirty)
        if entry.job.id not in self._entries and entry.fire_s <= self._horizon_s:
            self._entries[entry.job.id] = entry
            self._arm(entry)

    def put_followed(self, job: DueJob) -> None:
        """Put a job with the due time that follows an end, which was written just now."""
        self._dirty.pop(job.id, None)  # its advance is older
        self.replace(job)

    def find(self, job_id: UUID) -> LoadedJob | None:
        """Return the entry of a job, if it is in memory."""
        return self._entries.get(job_id)

    def forget(self, job_id: UUID) -> None:
        """Drop a job; what was fired of it is no longer claimed."""
        entry = self._entries.pop(job_id, None)
        if entry is not None:
            entry.gone = True

    # Jobs that have to be read again, or quarantined

    @property
    def is_certain(self) -> bool:
        """Whether no job is stale, or still to be quarantined."""
        return not self._stale and not self._quarantined

    def mark_stale(self, job_ids: Collection[UUID]) -> None:
        """Have jobs read again, since the database knows better."""
        self._stale.update(job_ids)
        self.unread.set()

    def stale_jobs(self) -> set[UUID]:
        """Return the jobs that have to be read again."""
        return set(self._stale)

    def refresh(self, job_ids: Collection[UUID], due_jobs: Iterable[DueJob]) -> None:
        """Replace stale jobs by what was found of them; others are gone."""
        for job_id in job_ids:
            self.forget(job_id)
        for job in due_jobs:
            self.replace(job)
        self._stale.difference_update(job_ids)

    def quarantine(self, job: DueJob, error: Exception) -> None:
        """Take a job out, until its quarantine is written."""
        self.forget(job.id)
        self._quarantined[job.id] = (job.revision, f"{type(error).__name__}: {error}")
        self.unread.set()

    def quarantined_jobs(self) -> list[tuple[UUID, int, str]]:
        """Return the jobs whose quarantine is to be written, with revision and reason."""
        return [(job_id, *why) for job_id, why in self._quarantined.items()]

    def quarantine_written(self, job_id: UUID) -> None:
        """Note that the quarantine of a job was written."""
        del self._quarantined[job_id]

    # What is due

    @property
    def wheel_size(self) -> int:
        """How many jobs and waiting runs wait for their time."""
        return self._wheel.size + self.waiting.coming_count

    @property
    def has_due(self) -> bool:
        """Whether a job is to be claimed."""
        return bool(self._on_time or self._late)

    @property
    def has_due_on_time(self) -> bool:
        """Whether a job is to be claimed that was fired on time."""
        return bool(self._on_time)

    def fire(self, second: int) -> None:
        """Move all that is due up to a second from the wheel to the queues."""
        self._fired_s = max(second, self._fired_s)
        for slot, names in self._wheel.fire(second):
            queue = self._on_time if second - slot <= _ON_TIME_S else self._late
            for name in names:
                # The wheel forgets nothing: a name counts only in the slot where its job stands.
                entry = self._entries.get(name)
                if entry is not None and entry.fire_s == slot and not entry.busy:
                    entry.armed = False
                    entry.busy = True
                    queue.append(entry)

    def pop_due(self) -> LoadedJob | None:
        """Take the next job to be claimed, what was fired on time before what was fired late."""
        for queue in (self._on_time, self._late):
            while queue:
                entry = queue.popleft()
                if not entry.gone:
                    return entry
        return None

    def advance(self, entry: LoadedJob, next_s: int | None) -> None:
        """Go on with an entry whose due times up to `next_s` have their rows."""
        entry.move_to(next_s)
        entry.busy = False
        if entry.gone:  # dropped while it was claimed; an entry put since then knows better
            self._dirty.setdefault(entry.job.id, entry)
        else:
            self._dirty[entry.job.id] = entry
            self._arm(entry)

    def claimed_straight(self, entry: LoadedJob, due: datetime) -> None:
        """Note that a run was queued by its claim: nothing due before it was unfinished."""
        entry.open_since = due

    def where_to_look(self, job_id: UUID, stored_since: datetime) -> OpenRuns:
        """Return where unfinished runs of a job are to be looked for; its row says since when."""
        entry = self._entries.get(job_id)
        since = stored_since if entry is None else entry.open_since
        return OpenRuns(since, self.open_runs.of(job_id))

    def note_open(self, job_id: UUID, found: OpenRuns) -> None:
        """Note where to look from now on."""
        self.open_runs.note(job_id, found.runs)
        if (entry := self._entries.get(job_id)) is not None:
            entry.open_since = found.since

    def oldest_s(self) -> int | None:
        """Return the oldest fire time in the wheel and the queues."""
        seconds = [entry.fire_s for queue in (self._on_time, self._late) for entry in queue]
        first = self._wheel.first()
        if first is not None:
            seconds.append(first)
        return min(seconds, default=None)

    # Next due times that are still to be written

    @property
    def dirty_count(self) -> int:
        """How many next due times are to be written."""
        return len(self._dirty)

    def take_advances(self, count: int) -> list[tuple[LoadedJob, Advance]]:
        """Take out next due times to be written; return them if that did not succeed."""
        taken = []
        for job_id in list(self._dirty)[:count]:
            entry = self._dirty.pop(job_id)
            taken.append((entry, _advance(entry, self.open_runs.of(job_id))))
        return taken

    def return_advances(self, entries: Iterable[LoadedJob]) -> None:
        """Keep next due times that could not be written."""
        for entry in entries:
            self._dirty.setdefault(entry.job.id, entry)

    def mark_flushed(self, entries: Iterable[LoadedJob]) -> None:
        """Note that next due times were written."""
        self._flushed.extend(entries)

    def evict(self) -> None:
        """Drop what lies beyond the horizon and is written. Not while a read is under way, which
        could still return a stale due time.
        """
        flushed, self._flushed = self._flushed, []
        for entry in flushed:
            idle = not entry.armed and not entry.busy and not entry.gone
            if idle and entry.job.id not in self._dirty:
                self.forget(entry.job.id)

    def _arm(self, entry: LoadedJob) -> None:
        if not entry.armed and not entry.busy and entry.fire_s <= self._horizon_s:
            entry.armed = True
            self._wheel.add(entry.fire_s, entry.job.id)
            if entry.fire_s <= self._fired_s:
                self.overdue.set()


def _advance(entry: LoadedJob, open_runs: tuple[UUID, ...]) -> Advance:
    due = None if entry.due_s is None else instant_of(entry.due_s)
    fire = None if entry.due_s is None else instant_of(entry.fire_s)
    accounted = instant_of(entry.recorded_s)
    since = None
    # Of what was dropped from memory it is not known any more which runs are unfinished.
    if entry.minds_others and not entry.gone:
        since = OpenRuns(entry.open_since, open_runs).safe_since
        since = since if due is None else min(since, due)  # what is claimed next may be due earlier
    return Advance(entry.job.id, entry.job.revision, due, fire, accounted, since)
