"""Jobs that are due with the runs of others, in memory. See `domain.ports.Agenda`."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from matins.domain.jobs.spec import JobState
from matins.domain.runs.admission.waiting import CLAIM, TO_BE_ADMITTED, Waiting
from matins.domain.runs.chains import UPSTREAM, Link, UpstreamRun
from matins.domain.runs.claims import Claimed
from matins.domain.runs.states import Kind, RunState
from matins.domain.schedules.after_jobs import AfterJobs
from matins.domain.timetables.next_due import INSTANT
from matins.testing.memory.rows import RunRow
from matins.testing.memory.world import JobRow, World, day_of

_OWN = (Kind.SCHEDULED, Kind.CHAINED)
_KINDS = (*_OWN, Kind.MANUAL)


class MemoryChains:
    """The chains of a world."""

    def __init__(self, world: World) -> None:
        self._world = world

    def links(self, partitions: Collection[int]) -> list[Link]:
        """See `domain.ports.Agenda`."""
        links = []
        for partition, job_id, due_at in sorted(self._world.links_again):
            job = self._world.jobs[job_id]
            if partition in partitions and job.state is JobState.ACTIVE:
                links.append(self._link_again(job, due_at))
        for job in self._awaiting(partitions):
            for leader, run in self._open(job):
                if run.finished_at is not None or _chain(job).when.startswith("any_"):
                    links.append(self.link(job, leader, run))
        return links

    def advance_chains(self, partitions: Collection[int]) -> None:
        """See `domain.ports.Agenda`."""
        for job in self._awaiting(partitions):
            bounds = [due_from(leader) for leader in self._leaders(job)]
            if not self._world.locks.is_taken(job.id):
                first = min_of([*bounds, *(run.due_at for _, run in self._open(job))])
                job.follows = first and max(first, job.timing.since + INSTANT)

    def revive(
        self, holder: UUID, epochs: Mapping[int, int], links: Sequence[Link], starts: Sequence[bool]
    ) -> Claimed:
        """See `domain.ports.Agenda`."""
        wanted, now = {link.partition for link in links}, self._world.now()
        fenced = self._world.fence(holder, epochs) & wanted
        made, waiting = set(), []
        for link, begins in zip(links, starts, strict=True):
            if link.partition not in fenced:
                continue
            self._world.links_again.discard((link.partition, link.job_id, link.due_at))
            job = self._world.jobs[link.job_id]
            run = self._world.runs.get((link.job_id, link.due_at, Kind.CHAINED))
            if run is None or not begins or not _is_skipped(run) or not _is_active(job):
                continue
            run.reason, run.finished_at = TO_BE_ADMITTED, None
            job.open_since = min(job.open_since, run.due_at)
            self._world.wait(run, now, CLAIM)
            self._world.move(run, RunState.WAITING)
            self._world.link_again(job, run.due_at)
            made.add(run.id)
            waiting.append(Waiting(run.id, run.partition, now, job.team_id, CLAIM))
        return Claimed(made, wanted - fenced, waiting=waiting)

    def _awaiting(self, partitions: Collection[int]) -> list[JobRow]:
        now, jobs = self._world.now(), self._world.jobs.values()
        return [
            job
            for job in jobs
            if job.spec.upstream and _is_active(job) and job.partition in partitions
            if job.follows is not None and job.follows <= now
        ]

    def _leaders(self, job: JobRow) -> list[JobRow]:
        return leaders_of(self._world, job.team, job.spec.upstream[0])

    def _open(self, job: JobRow) -> list[tuple[JobRow, RunRow]]:
        """Return the rows of a chain's leader, each with its job, that have no answer."""
        assert job.follows is not None
        return [
            (leader, run)
            for leader in self._leaders(job)
            for run in leader_runs(self._world, leader, job.follows)
            if not is_settled(self._world, job.id, run)
        ]

    def link(self, job: JobRow, leader: JobRow, run: RunRow) -> Link:
        """Return what a chain knows of a row of its leader."""
        first = UpstreamRun(leader.spec.name, run.state, run.reason, run.finished_at)
        return self._of(job, run.due_at, first, run.kind, run)

    def _link_again(self, job: JobRow, due_at: datetime) -> Link:
        name = job.spec.upstream[0]
        for leader in sorted(self._leaders(job), key=lambda job: not _is_active(job)):
            for kind in _KINDS:
                if run := self._world.runs.get((leader.id, due_at, kind)):
                    first = UpstreamRun(name, run.state, run.reason, run.finished_at)
                    return self._of(job, due_at, first, kind)
        return self._of(job, due_at, UpstreamRun(name, RunState.SKIPPED, "", due_at), None)

    def _of(
        self,
        job: JobRow,
        due_at: datetime,
        first: UpstreamRun,
        kind: Kind | None,
        leading: RunRow | None = None,
    ) -> Link:
        chain = _chain(job)
        latest = kind is Kind.MANUAL or chain.join == "latest"
        others = [self._upstream(job.team, name, due_at, latest) for name in chain.jobs[1:]]
        return Link(
            job_id=job.id,
            partition=job.partition,
            revision=job.revision,
            pool=job.spec.pool,
            when=chain.when,
            due_at=due_at,
            upstream=[first, *others],
            due_until=leading.due_until if leading else None,
            due_count=leading.due_count if leading else 1,
            is_again=leading is None,
        )

    def _upstream(self, team: str, name: str, due_at: datetime, latest: bool) -> UpstreamRun:
        """See `upstream_run` in the migration."""
        jobs = leaders_of(self._world, team, name)
        if not jobs:
            return UpstreamRun(name, RunState.SKIPPED, "there is no such job", due_at)
        job = max(jobs, key=lambda job: (job.state is not JobState.DELETED, job.changed_at))
        kinds = _KINDS if latest else _OWN
        runs = self._world.runs_by_job.get(job.id, [])
        before = reversed(runs[: bisect_right(runs, due_at, key=_due_at)])
        run = next((run for run in before if run.kind in kinds), None)
        if run is not None and (run.due_until or run.due_at) >= due_at:
            return UpstreamRun(name, run.state, run.reason, run.finished_at)
        bound = due_from(job)
        if bound is not None and bound <= due_at:
            return UpstreamRun(name)
        if latest and run is not None:
            return UpstreamRun(name, run.state, run.reason, run.finished_at)
        reason = {
            JobState.ACTIVE: "it was not due then",
            JobState.DELETED: "there is no such job",
        }.get(job.state, f"it is {job.state}")
        return UpstreamRun(name, RunState.SKIPPED, reason, due_at)


def leaders_of(world: World, team: str, name: str) -> list[JobRow]:
    """Return all jobs that had a name, also those that are deleted."""
    return [job for job in world.jobs.values() if (job.team, job.spec.name) == (team, name)]


def followers(world: World, team: str, name: str) -> list[JobRow]:
    """Return the jobs that follow the job of a name."""
    return [
        job
        for job in world.jobs.values()
        if job.team == team and name in job.spec.upstream and job.state is not JobState.DELETED
    ]


def leader_runs(world: World, leader: JobRow, since: datetime | None = None) -> list[RunRow]:
    """Return the runs of a job each of which is a due time of what it leads."""
    runs = world.runs_by_job.get(leader.id, [])
    first = 0 if since is None else bisect_left(runs, since, key=_due_at)
    return [run for run in runs[first:] if run.kind in _KINDS]


def is_settled(world: World, chain: UUID, run: RunRow, own: Iterable[RunRow] = ()) -> bool:
    """Return whether a chain has a row for a row of its leader; see the migration."""
    runs = world.runs_by_job.get(chain, [])
    before = reversed(runs[: bisect_right(runs, run.due_at, key=_due_at)])
    newest = next((row for row in before if row.kind is Kind.CHAINED), None)
    new = [row for row in own if row.kind is Kind.CHAINED and row.due_at <= run.due_at]
    rows = [*new, *([newest] if newest else [])]
    last = max(rows, key=_due_at, default=None)
    if last is None or day_of(last.due_at) != day_of(run.due_at):
        return False
    covers = last.due_until is not None and last.due_until >= run.due_at
    return last.due_at == run.due_at or (covers and run.kind is not Kind.MANUAL)


def due_from(job: JobRow) -> datetime | None:
    """From when on a job's next row is due at the earliest; None: nothing is due by itself."""
    return (job.next_due_at or job.follows) if _is_active(job) else None


def min_of(instants: Iterable[datetime | None]) -> datetime | None:
    """Return the first of the instants that are known."""
    return min((at for at in instants if at is not None), default=None)


def _due_at(run: RunRow) -> datetime:
    return run.due_at


def _chain(job: JobRow) -> AfterJobs:
    assert job.spec.schedule is not None
    assert job.spec.schedule.chain is not None
    return job.spec.schedule.chain


def _is_active(job: JobRow) -> bool:
    return job.state is JobState.ACTIVE


def _is_skipped(run: RunRow) -> bool:
    skipped_for = run.reason.startswith(UPSTREAM) and run.due_until is None
    return run.state is RunState.SKIPPED and skipped_for
