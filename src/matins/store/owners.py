"""What owners do to their jobs: create, replace, pause, resume, override, delete.

A change never fires a run, and no due time vanishes by it: what lay before it and has no row yet
is put on record in the transaction of the change (or, if it is very much, in pieces before it).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TypeVar
from uuid import uuid4

import asyncpg
import msgspec

from matins.domain.jobs.changes import LockedJob
from matins.domain.jobs.misfire import COUNT_MAX
from matins.domain.jobs.overrides import overridden, problems, restored
from matins.domain.jobs.spec import Job, JobList, JobSpec, JobState
from matins.domain.ports import Hints
from matins.domain.schedules.schedule import Override
from matins.domain.values.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    below,
    check,
)
from matins.domain.values.names import check_name
from matins.domain.views import Changed, Missed
from matins.store.changes import Change, Settled, Wanted
from matins.store.database import Database
from matins.store.days import with_days
from matins.store.hints import tell
from matins.store.timings import KnownCalendars

AT_ONCE = 4
"""How many of many jobs are put side by side."""

_LONG_AGO = datetime(1, 1, 2, tzinfo=UTC)
_RUN_MAX: dict[Missed, int] = {"skip": 0, "last": 1, "all": COUNT_MAX}
_T = TypeVar("_T")

Decide = Callable[[LockedJob, datetime], Wanted | None]
"""What a job is to become, from how it stands and the present; None: it stays as it is."""


class _UndoneError(Exception):
    """Rolls a dry run back, with what it would have done."""

    def __init__(self, result: object) -> None:
        super().__init__()
        self.result = result


class PostgresOwners:
    """Changes jobs, each in one transaction; then tells the schedulers."""

    def __init__(self, database: Database, calendars: KnownCalendars, hints: Hints) -> None:
        self._database = database
        self._calendars = calendars
        self._hints = hints

    async def create(self, team: str, spec: JobSpec) -> Changed:
        """Make a job. Raises ConflictError when the team has one of that name."""
        check_name("team", team)
        check(spec.problems())
        try:
            return await self._make(team, spec, dry_run=False)
        except asyncpg.UniqueViolationError:
            raise ConflictError(
                f"team {team} has a job {spec.name!r} already; replace it by PUT, or delete it"
            ) from None

    async def put(self, team: str, spec: JobSpec, *, dry_run: bool = False) -> Changed:
        """Make a job or replace it; an equal one is left as it is. A paused job stays paused."""
        check_name("team", team)
        check(spec.problems())
        while True:
            try:
                return await self._change(
                    team, spec.name, lambda job, _: _replaced(job, spec), dry_run=dry_run
                )
            except NotFoundError:
                pass
            try:
                return await self._make(team, spec, dry_run=dry_run)
            except asyncpg.UniqueViolationError:
                continue  # someone else has just made it

    async def put_all(self, team: str, jobs: JobList, *, dry_run: bool = False) -> list[Changed]:
        """Make or replace jobs, each in a transaction of its own, in the order of the list.

        Nothing is done where one is wrong in itself. Where one can't be put after all, the others
        are; repeat it then, or if its end is unknown.
        """
        check(jobs.problems())
        side_by_side = asyncio.Semaphore(AT_ONCE)

        async def put(spec: JobSpec) -> Changed:
            async with side_by_side:
                return await self.put(team, spec, dry_run=dry_run)

        done = await asyncio.gather(*map(put, jobs.jobs), return_exceptions=True)
        wrong = [(i, it) for i, it in enumerate(done) if isinstance(it, InvalidInputError)]
        check([found for i, it in wrong for found in below(f"jobs[{i}]", it.problems)])
        for error in done:
            if isinstance(error, BaseException):
                raise error
        return [it for it in done if isinstance(it, Changed)]

    async def pause(self, team: str, name: str) -> Changed:
        """Stop claiming a job's due times, until it is resumed."""
        return await self._change(team, name, _paused)

    async def resume(self, team: str, name: str, missed: Missed = "skip") -> Changed:
        """Go on with a paused or quarantined job, after deciding about what was missed."""
        return await self._change(team, name, lambda job, _: _resumed(job, missed))

    async def delete(self, team: str, name: str) -> Changed:
        """End a job. What waits is cancelled and what runs is not tried again; its history stays,
        and its name is free again.
        """
        return await self._change(team, name, _deleted)

    async def override(self, team: str, name: str, override: Override) -> Changed:
        """Skip or move one occurrence of a job; one that is override already is decided anew."""
        check(problems(override))
        return await self._change(team, name, lambda job, now: _overridden(job, override, now))

    async def restore(self, team: str, name: str, due_at: datetime) -> Changed:
        """Undo an override."""
        return await self._change(team, name, lambda job, now: _restored(job, due_at, now))

    async def keep_to_calendars(self, team: str, name: str) -> Changed:
        """Let an active job follow the current versions of its calendars from now on."""
        return await self._change(team, name, _kept_to_calendars)

    async def _make(self, team: str, spec: JobSpec, *, dry_run: bool) -> Changed:
        async def step(change: Change) -> Changed:
            return Changed(await change.insert(uuid4(), team, spec), "created")

        made = await self._transact(step, dry_run=dry_run)
        await self._tell(made)
        return made

    async def _change(
        self,
        team: str,
        name: str,
        decide: Decide,
        *,
        dry_run: bool = False,
    ) -> Changed:
        """Change a job as decided. What it owes is put on record in pieces, if it is very much."""
        check_name("team", team)
        check_name("name", name)
        skipped, after = 0, _LONG_AGO

        async def step(change: Change) -> Changed | Settled:
            found = await change.lock(team, name)
            if found is None:
                raise NotFoundError(f"team {team} has no job {name!r}")
            return await _step(change, *found, decide, after)

        while isinstance(done := await self._transact(step, dry_run=dry_run), Settled):
            skipped, after = skipped + done.skipped, done.until
        changed = msgspec.structs.replace(done, skipped=done.skipped + skipped)
        if not dry_run:
            await self._tell(changed)
        return changed

    async def _transact(self, step: Callable[[Change], Awaitable[_T]], *, dry_run: bool) -> _T:
        dues: list[datetime] = []

        async def attempt() -> _T:
            async with self._database.transaction() as session:
                result = await step(Change(self._database, session, self._calendars, dues))
                if dry_run:
                    raise _UndoneError(result)
                return result

        try:
            return await with_days(self._database, dues, attempt)
        except _UndoneError as undone:
            result: _T = undone.result  # type: ignore[assignment] # what the step gave
            return result

    async def _tell(self, changed: Changed) -> None:
        """Let schedulers look at the job, and gateways at what was queued."""
        if changed.change != "unchanged":
            await tell(self._hints, "jobs", str(changed.job.id))
        if changed.queued:
            await tell(self._hints, "dispatch", changed.job.spec.pool)


async def _step(
    change: Change,
    job: LockedJob,
    old: Job,
    decide: Decide,
    after: datetime,
) -> Changed | Settled:
    """One transaction of a change: the whole of it, or a piece of what the job owes."""
    now = max(await change.now(), job.changed_at)
    wanted = decide(job, now)
    if wanted is None:
        return Changed(old, "unchanged")
    if wanted.why is None:
        return Changed(await change.update(old, job, wanted), wanted.change)
    settled = await change.settle(
        job, now, wanted.why, wanted.run_max, after=max(after, job.accounted_until)
    )
    if not settled.complete:
        if job.state is JobState.ACTIVE:
            await change.advance(job, settled.until)
        return settled
    new = await change.update(old, job, wanted, due_after=now)
    cancelled = await change.cancel_waiting(job) if new.state is JobState.DELETED else 0
    return Changed(new, wanted.change, settled.skipped, settled.queued, cancelled)


def _replaced(job: LockedJob, spec: JobSpec) -> Wanted | None:
    state = JobState.PAUSED if job.state is JobState.PAUSED else JobState.ACTIVE
    if spec == job.spec and state is job.state:
        return None
    if job.state is JobState.QUARANTINED:
        return Wanted(spec, state, "changed", job.state)
    if spec.schedule == job.spec.schedule:
        return Wanted(spec, state, "changed")
    return Wanted(spec, state, "changed", "changed" if state is JobState.ACTIVE else job.state)


def _paused(job: LockedJob, _now: datetime) -> Wanted | None:
    if job.state is JobState.PAUSED:
        return None
    _refuse_quarantined(job)
    return Wanted(job.spec, JobState.PAUSED, "paused", "paused")


def _resumed(job: LockedJob, missed: Missed) -> Wanted | None:
    if job.state is JobState.ACTIVE:
        return None
    return Wanted(job.spec, JobState.ACTIVE, "resumed", job.state, _RUN_MAX[missed])


def _overridden(job: LockedJob, override: Override, now: datetime) -> Wanted | None:
    _refuse_quarantined(job)
    overrides = overridden(job, override, now)
    if overrides == job.timing.overrides:
        return None
    return Wanted(job.spec, job.state, "changed", overrides=overrides)


def _restored(job: LockedJob, due_at: datetime, now: datetime) -> Wanted:
    _refuse_quarantined(job)
    overrides = restored(job, due_at, now)
    return Wanted(job.spec, job.state, "changed", overrides=overrides)


def _kept_to_calendars(job: LockedJob, _now: datetime) -> Wanted | None:
    if job.state is not JobState.ACTIVE or not job.is_behind:
        return None  # it will when it goes on, or somebody has just done it
    return Wanted(job.spec, job.state, "changed", "changed")


def _deleted(job: LockedJob, _now: datetime) -> Wanted:
    why = "deleted" if job.state is JobState.ACTIVE else job.state
    return Wanted(job.spec, JobState.DELETED, "deleted", why)


def _refuse_quarantined(job: LockedJob) -> None:
    """Keep the reason of a quarantine on the job until its owner mends it."""
    if job.state is JobState.QUARANTINED:
        raise ConflictError(
            "the job is quarantined, so nothing of it is claimed; mend or delete it"
        )
