"""The jobs of partitions that are to be taken over: read and compiled before they are held."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from matins.domain.jobs.spec import JobState
from matins.domain.ports import Agenda
from matins.domain.runs.claims import DueJob, Mark
from matins.scheduler.coverage import Coverage
from matins.scheduler.planning import LoadedJob


class Preloaded:
    """What reserved partitions held when they were read.

    Their holder goes on meanwhile, so of what fires up to the take-over nothing here is used. What
    fires later it can't have claimed; and what was changed since then the claim refuses, by its
    revision. So it is only a beginning: the partition is read anew once it is held.
    """

    def __init__(self, agenda: Agenda) -> None:
        self._agenda = agenda
        self._epochs: dict[int, int] = {}
        self._entries: dict[int, list[LoadedJob]] = {}

    @property
    def partitions(self) -> set[int]:
        """The partitions that were read to the end."""
        return set(self._epochs)

    async def read(self, reserved: Mapping[int, int], now: datetime, until: datetime) -> None:
        """Read what is reserved and was not read; forget what is reserved no more."""
        for partition in [
            partition
            for partition, epoch in self._epochs.items()
            if reserved.get(partition) != epoch
        ]:
            self._forget(partition)
        missing = {
            partition: epoch
            for partition, epoch in reserved.items()
            if partition not in self._epochs
        }
        if not missing:
            return
        self._entries |= {partition: [] for partition in missing}
        reading = Coverage().begin(missing, now)
        while reading.marks:
            page = await self._agenda.load(reading.marks, until, reading.share)
            for job in page:
                if entry := _compiled(job):
                    self._entries[job.partition].append(entry)
            self._epochs |= reading.turn(map(_place, page), missing)

    def take(self, partition: int, epoch: int, second: int) -> list[LoadedJob] | None:
        """Take out what fires after a second; None if it was not read for this epoch."""
        if self._epochs.get(partition) != epoch:
            return None
        entries = self._entries[partition]
        self._forget(partition)
        return [entry for entry in entries if entry.fire_s > second]

    def _forget(self, partition: int) -> None:
        del self._epochs[partition], self._entries[partition]


def _compiled(job: DueJob) -> LoadedJob | None:
    """Return its entry; one that can't be compiled is quarantined when it is read again."""
    if job.state is not JobState.ACTIVE or job.next_due_at is None:
        return None
    try:
        return LoadedJob(job)
    except Exception:  # whatever somebody has put there
        return None


def _place(job: DueJob) -> tuple[int, Mark]:
    assert job.next_fire_at is not None
    return job.partition, Mark(job.next_fire_at, job.id)
