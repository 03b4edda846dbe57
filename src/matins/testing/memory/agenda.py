"""The scheduler's side of jobs and runs, in memory. See `domain.ports.Agenda`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from matins.domain.jobs.revisions import JobRevision
from matins.domain.jobs.spec import PRIORITIES, JobState
from matins.domain.runs.admission.waiting import CLAIM, TO_BE_ADMITTED, Waiting
from matins.domain.runs.chains import Link, LinkPage
from matins.domain.runs.claims import (
    Advance,
    AwaitedEnd,
    Claim,
    Claimed,
    DueJob,
    FollowUp,
    Mark,
)
from matins.domain.runs.states import Kind, RunState
from matins.domain.timetables.next_due import NextDue
from matins.testing.memory.chains import MemoryChains
from matins.testing.memory.open_runs import rows_of
from matins.testing.memory.rows import RunRow
from matins.testing.memory.world import JobRow, World

HOT_LOCK_S = 0.25
"""How long a claim waits for what somebody has locked."""

READ_LOCK_S = 1.0
"""How long all else waits."""


class MemoryAgenda:
    """Jobs and runs of a world."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def database_time(self) -> datetime:
        """See `domain.ports.Agenda`."""
        return self._world.now()

    async def load(self, after: Mapping[int, Mark], until: datetime, share: int) -> list[DueJob]:
        """See `domain.ports.Agenda`."""
        due = {
            Mark(job.next_fire_at, job.id): job
            for job in self._world.jobs.values()
            if job.next_fire_at is not None
        }
        places = ((job.partition, mark) for mark, job in due.items())
        return _due_jobs(due[mark] for _, mark in first_places(places, after, until, share))

    async def changed_jobs(self, partitions: Collection[int], since: datetime) -> list[DueJob]:
        """See `domain.ports.Agenda`."""
        wanted = set(partitions)
        jobs = self._world.jobs.values()
        return _due_jobs(job for job in jobs if job.changed_at >= since and job.partition in wanted)

    async def find_jobs(self, job_ids: Collection[UUID]) -> list[DueJob]:
        """See `domain.ports.Agenda`."""
        jobs = [self._world.jobs[job_id] for job_id in job_ids if job_id in self._world.jobs]
        return _due_jobs(job for job in jobs if job.next_due_at is not None)

    async def claim(
        self, holder: UUID, epochs: Mapping[int, int], claims: Sequence[Claim]
    ) -> Claimed:
        """See `domain.ports.Agenda`."""
        await self._world.locks.free(
            ((claim.job_id, claim.due_at, claim.kind) for claim in claims), HOT_LOCK_S
        )
        wanted = {claim.partition for claim in claims}
        kept = _kept(claims)
        fenced = self._world.fence(holder, epochs) & wanted
        made, stale = set(), set()
        waiting = []
        for claim in claims:
            if claim.partition not in fenced:
                continue
            job = self._world.jobs.get(claim.job_id)
            if (
                job is None
                or job.revision != claim.revision
                or job.state is not JobState.ACTIVE
                or (claim.job_id in kept and not self._is_lockable(claim, job))
            ):
                stale.add(claim.job_id)
            elif run := self._insert(claim, job, epochs[claim.partition]):
                made.add(claim.run_id)
                if run.state is RunState.WAITING:
                    place = (run.id, run.partition, run.claimed_at, job.team_id)
                    waiting.append(Waiting(*place, CLAIM, run.pool, run.priority))
        self._step_past([claim for claim in claims if claim.due_until is not None], made)
        return Claimed(made, wanted - fenced, stale, waiting)

    async def locked_partitions(self, partitions: Collection[int]) -> set[int]:
        """See `domain.ports.Agenda`. Nobody stays in the middle of a take-over here."""
        del partitions
        return set()

    async def advance(self, holder: UUID, advances: Sequence[Advance]) -> None:
        """See `domain.ports.Agenda`."""
        await self._world.locks.free((advance.job_id for advance in advances), READ_LOCK_S)
        if holder not in self._world.leases:
            return
        for advance in advances:
            job = self._world.jobs.get(advance.job_id)
            if job is None or job.revision != advance.revision or job.state is not JobState.ACTIVE:
                continue
            due, since = advance.next_due_at, advance.open_since
            stepped = _step(job, advance.accounted_until, due, advance.next_fire_at)
            if stepped and since is not None:
                job.open_since = max(job.open_since, min(since, job.follows or since))

    async def ended_runs(self, partitions: Collection[int], limit: int) -> list[AwaitedEnd]:
        """See `domain.ports.Agenda`."""
        wanted, now = set(partitions), self._world.now()
        ends: list[AwaitedEnd] = []
        for job in self._world.jobs.values():
            if (
                job.spec.upstream
                or job.follows is None
                or job.follows > now
                or job.partition not in wanted
            ):
                continue
            run = self._world.runs.get((job.id, job.follows, Kind.SCHEDULED))
            if job.state is JobState.ACTIVE and run is not None and run.finished_at is not None:
                [due_job] = _due_jobs([job])
                count = self._world.run_count(job)
                ends.append(AwaitedEnd(due_job, run.due_at, run.finished_at, count))
        return ends[:limit]

    async def write_follow_ups(self, follow_ups: Sequence[FollowUp]) -> set[UUID]:
        """See `domain.ports.Agenda`."""
        await self._world.locks.free((follow_up.job_id for follow_up in follow_ups), READ_LOCK_S)
        done = set()
        for follow_up in follow_ups:
            job = self._world.jobs.get(follow_up.job_id)
            if job is None or (job.revision, job.follows) != (
                follow_up.revision,
                follow_up.follows,
            ):
                continue
            if job.state is JobState.ACTIVE:
                job.next_due_at = job.follows = follow_up.next_due_at
                job.next_fire_at = follow_up.next_fire_at
                done.add(job.id)
        return done

    async def links(self, partitions: Collection[int], after: UUID | None = None) -> LinkPage:
        """See `domain.ports.Agenda`. All are one page here."""
        del after
        return LinkPage(MemoryChains(self._world).links(partitions))

    async def advance_chains(self, partitions: Collection[int]) -> None:
        """See `domain.ports.Agenda`."""
        MemoryChains(self._world).advance_chains(partitions)

    async def revive(
        self, holder: UUID, epochs: Mapping[int, int], links: Sequence[Link], starts: Sequence[bool]
    ) -> Claimed:
        """See `domain.ports.Agenda`."""
        return MemoryChains(self._world).revive(holder, epochs, links, starts)

    async def quarantine(self, job_id: UUID, revision: int, reason: str) -> None:
        """See `domain.ports.Agenda`."""
        await self._world.locks.free([job_id], READ_LOCK_S)
        job = self._world.jobs[job_id]
        if job.revision == revision and job.state is JobState.ACTIVE:
            stopped = JobRevision(
                job.spec,
                JobState.QUARANTINED,
                self._world.now(),
                job.timing,
                job.calendars,
                NextDue(follows=job.follows),
                reason,
            )
            self._world.revise(job, stopped)

    def _insert(self, claim: Claim, job: JobRow, epoch: int) -> RunRow | None:
        now = self._world.now()
        state, reason = claim.state, claim.reason
        if claim.state is RunState.QUEUED:
            is_asked = self._is_near(claim, job, now) or job.is_asked or self._minds(claim, job)
            state = RunState.WAITING if is_asked else state
        if state is RunState.WAITING:
            reason = TO_BE_ADMITTED
        run = RunRow(
            id=claim.run_id,
            job_id=claim.job_id,
            due_at=claim.due_at,
            fire_at=claim.fire_at,
            claimed_at=now,
            epoch=epoch,
            partition=job.partition,
            pool=job.spec.pool,
            priority=PRIORITIES[job.spec.priority],
            kind=claim.kind,
            state=state,
            reason=reason,
            due_until=claim.due_until,
            due_count=claim.due_count,
            finished_at=now if state is RunState.SKIPPED else None,
        )
        if self._is_covering(claim) or not self._world.insert(run):
            return None
        if state is RunState.QUEUED:
            self._world.enqueue(run, claim.rank)
        if state is RunState.WAITING:
            self._world.wait(run, now, CLAIM)
        return run

    def _is_lockable(self, claim: Claim, job: JobRow) -> bool:
        """Return whether nobody changes a job, and it has not stepped past a claim of it."""
        if self._world.locks.is_taken(claim.job_id):
            return False
        coming = job.next_due_at
        is_ahead = coming is not None and claim.due_at >= coming
        return claim.kind is not Kind.SCHEDULED or is_ahead

    def _is_covering(self, claim: Claim) -> bool:
        """Return whether a range would lie over the row of a due time."""
        until = claim.due_until
        if until is None or claim.kind is not Kind.SCHEDULED:
            return False
        runs = self._world.scheduled(claim.job_id)
        return any(claim.due_at < run.due_at <= until for run in runs)

    def _is_near(self, claim: Claim, job: JobRow, now: datetime) -> bool:
        """Return whether gates or windows might hold a claim, so that it must be asked about."""
        if job.gates or self._world.gates.limit_team(job.team_id):
            return True
        return any(
            window.starts_at <= now
            and (
                window.ends_at > now or (window.policy == "skip" and window.ends_at > claim.fire_at)
            )
            for window in self._world.rules_of(job.team_id).windows
        )

    def _minds(self, claim: Claim, job: JobRow) -> bool:
        """Return whether a run of the job is unfinished, or may be."""
        if claim.kind is not Kind.SCHEDULED:
            return job.spec.overlapping.policy != "allow"
        since = claim.open_since
        return since is not None and bool(rows_of(self._world, claim.job_id, since))

    def _step_past(self, ranges: Sequence[Claim], made: Collection[UUID]) -> None:
        """Step past the ranges that were made."""
        for claim in ranges:
            if claim.run_id in made and claim.due_until is not None:
                job = self._world.jobs[claim.job_id]
                _step(job, claim.due_until, claim.next_due_at, claim.next_fire_at)


def _kept(claims: Sequence[Claim]) -> set[UUID]:
    """Return the jobs of which a change must not come between: see `locked` in claims.sql."""
    counts = Counter(claim.job_id for claim in claims)
    return {
        claim.job_id
        for claim in claims
        if claim.follows_end or claim.due_until is not None or counts[claim.job_id] > 1
    }


def _step(
    job: JobRow, accounted_until: datetime, due: datetime | None, fire: datetime | None
) -> bool:
    """Go on to the next due time of a job, if all before it is accounted for; whether it was."""
    if job.next_due_at is None or job.next_due_at > accounted_until:
        return False
    job.next_due_at, job.next_fire_at = due, fire
    return True


def first_places(
    places: Iterable[tuple[int, Mark]], after: Mapping[int, Mark], until: datetime, share: int
) -> list[tuple[int, Mark]]:
    """Of each partition the first `share` places after its mark, up to an instant."""
    count = Counter[int]()
    marks = []
    wanted = (
        (partition, mark)
        for partition, mark in places
        if partition in after and mark.at <= until and after[partition] < mark
    )
    for partition, mark in sorted(wanted):
        if count[partition] < share:
            count[partition] += 1
            marks.append((partition, mark))
    return marks


def _due_jobs(jobs: Iterable[JobRow]) -> list[DueJob]:
    due_jobs = []
    for job in jobs:
        schedule = job.spec.schedule
        if schedule is not None:
            due = DueJob(
                id=job.id,
                partition=job.partition,
                revision=job.revision,
                state=job.state,
                schedule=schedule,
                timing=job.timing,
                misfire=job.spec.misfire,
                pool=job.spec.pool,
                next_due_at=job.next_due_at,
                next_fire_at=job.next_fire_at,
                team_id=job.team_id,
                priority=PRIORITIES[job.spec.priority],
                overlap=job.spec.overlapping.policy,
                open_since=job.open_since,
            )
            due_jobs.append(due)
    return due_jobs
