"""Following the ends of runs: a job with `after: end` is due some time after its last run ended.

Levels, not edges: whoever holds a partition looks at it again and again, so no end can be missed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from matins.domain.ports import Agenda, Clock
from matins.domain.runs.claims import AwaitedEnd, DueJob, FollowUp
from matins.domain.values.errors import ScheduleError, UnavailableError
from matins.scheduler.working_set import WorkingSet

PAGE: Final = 2_000
"""The most ends that are followed by one statement."""


class Follower:
    """Finds what has ended, writes the due times that follow, and takes them into memory."""

    def __init__(
        self, working_set: WorkingSet, agenda: Agenda, clock: Clock, pause_s: float
    ) -> None:
        """`pause_s` lies at least between two looks at the same partitions."""
        self._working_set = working_set
        self._agenda = agenda
        self._clock = clock
        self._pause_s = pause_s
        self._looked_s = float("-inf")
        self._partitions: dict[int, int] = {}
        self._complete_at: datetime | None = None

    def complete_at(self, partitions: Mapping[int, int]) -> datetime | None:
        """Return when all that had ended in these partitions was followed last; None if it
        never was.

        The partitions come with the epochs of their leases.
        """
        return self._complete_at if self._partitions == partitions else None

    async def look(self) -> None:
        """Follow all that has ended, unless that was done a moment ago.

        Not while jobs are read: an older answer must not come after a newer one. Raises
        UnavailableError; the next look finds again what was not followed.
        """
        partitions = dict(self._working_set.epochs)
        if not partitions:
            return
        now_s = self._clock.elapsed_s()
        if partitions == self._partitions and now_s < self._looked_s + self._pause_s:
            return
        begun_at = self._clock.now()
        while True:
            page = await self._agenda.ended_runs(partitions, PAGE)
            followed = await self._follow(page)
            if len(page) < PAGE:
                break
            if not followed:
                return  # all broken, or changed meanwhile: they are another page next time
        self._looked_s, self._partitions, self._complete_at = now_s, partitions, begun_at

    async def _follow(self, page: Sequence[AwaitedEnd]) -> int:
        """Follow a page of ends; gives for how many jobs it was done here."""
        follow_ups, jobs = [], []
        for ended in page:
            try:
                follow_up, job = follow_up_of(ended)
            except Exception as error:  # of this one job; the others go on
                self._working_set.quarantine(ended.job, error)
            else:
                follow_ups.append(follow_up)
                jobs.append(job)
        if not follow_ups:
            return 0
        try:
            done = await self._agenda.write_follow_ups(follow_ups)
        except UnavailableError:
            self._working_set.mark_stale([job.id for job in jobs])
            raise
        for job in jobs:
            if job.id in done and job.partition in self._working_set.epochs:
                self._working_set.put_followed(job)
        # Somebody else has changed or followed them.
        if changed := [job.id for job in jobs if job.id not in done]:
            self._working_set.mark_stale(changed)
        return len(done)


def follow_up_of(ended: AwaitedEnd) -> tuple[FollowUp, DueJob]:
    """Return what follows the end of a job's last run, and the job with it. Raises
    ScheduleError.
    """
    job = ended.job
    if job.fault:
        raise ScheduleError(job.fault)
    timetable = job.timetable()
    due = timetable.next_after_end(ended.ended_at, ended.run_count)
    fire = None if due is None else timetable.fire_time(due)
    follow_up = FollowUp(job.id, job.revision, ended.due_at, due, fire)
    return follow_up, msgspec.structs.replace(job, next_due_at=due, next_fire_at=fire)
