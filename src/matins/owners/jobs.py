"""What owners do to their jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from random import Random
from types import MappingProxyType
from uuid import UUID

from msgspec import DecodeError

from matins.domain.jobs import decisions
from matins.domain.jobs.authors import ENGINE, NOBODY, Author
from matins.domain.jobs.chains import Upstream, by_dependency
from matins.domain.jobs.changes import LockedJob
from matins.domain.jobs.decisions import Decide, JobChange, Moment
from matins.domain.jobs.misfire import Missed
from matins.domain.jobs.overrides import problems
from matins.domain.jobs.pausing import NO_END, Pause, reason_problems
from matins.domain.jobs.selecting import Relabel
from matins.domain.jobs.spec import JobList, JobSpec
from matins.domain.ports import Hints
from matins.domain.ports.jobs import JobChanges, JobTransaction
from matins.domain.schedules.schedule import Override
from matins.domain.values.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    below,
    check,
)
from matins.domain.values.names import check_name
from matins.domain.views import Changed
from matins.owners.changing import change_job, create_job, notify_changed

AT_ONCE = 4
"""How many of many jobs are put side by side."""


class Jobs:
    """Makes and changes jobs, each in a transaction of its own, then notifies the schedulers."""

    def __init__(self, changes: JobChanges, hints: Hints, rng: Random) -> None:
        """`rng` draws the ids of new jobs."""
        self._changes = changes
        self._hints = hints
        self._rng = rng

    async def create(self, team: str, spec: JobSpec, author: Author = NOBODY) -> Changed:
        """Make a job. Raises ConflictError when the team has one of that name."""
        check_name("team", team)
        check([*spec.problems(), *reason_problems(author.reason)])
        job_id = self._new_id()

        async def step(tx: JobTransaction) -> Changed | None:
            if spec.upstream:
                await tx.lock_chains(team)
            return await create_job(tx, job_id, team, spec, author, {})

        made = await self._changes.transact(step)
        if made is None:
            raise ConflictError(
                f"team {team} has a job {spec.name!r} already; replace it by PUT, or delete it"
            )
        await notify_changed(self._hints, [made])
        return made

    async def put(
        self, team: str, spec: JobSpec, author: Author = NOBODY, *, dry_run: bool = False
    ) -> Changed:
        """Make a job or replace it; an equal one is left as it is. A paused job stays paused."""
        check_name("team", team)
        check([*spec.problems(), *reason_problems(author.reason)])
        done = await self._put(team, spec, author, dry_run=dry_run)
        if not dry_run:
            await notify_changed(self._hints, [done])
        return done

    async def put_all(
        self, team: str, jobs: JobList, author: Author = NOBODY, *, dry_run: bool = False
    ) -> list[Changed]:
        """Make or replace jobs, each in a transaction of its own, after those that it follows.

        Nothing is done where one is wrong in itself. Where one can't be put after all, the others
        are; repeat it then, or if its end is unknown.
        """
        check_name("team", team)
        check([*jobs.problems(), *reason_problems(author.reason)])
        side_by_side = asyncio.Semaphore(AT_ONCE)

        async def put(spec: JobSpec) -> Changed:
            async with side_by_side:
                return await self._put(team, spec, author, dry_run=dry_run, beside=beside)

        beside = {spec.name: spec.upstream for spec in jobs.jobs if dry_run}
        answers: dict[int, Changed | BaseException] = {}
        for group in by_dependency(jobs.jobs):
            puts = (put(jobs.jobs[index]) for index in group)
            found = await asyncio.gather(*puts, return_exceptions=True)
            answers |= dict(zip(group, found, strict=True))
        results = [answers[index] for index in range(len(jobs.jobs))]
        done = [result for result in results if isinstance(result, Changed)]
        if not dry_run:
            await notify_changed(self._hints, done)
        _raise_first(results)
        return done

    async def pause(
        self,
        team: str,
        name: str,
        pause: Pause = NO_END,
        author: Author = NOBODY,
        *,
        keep: bool = False,
        dry_run: bool = False,
    ) -> Changed:
        """Stop claiming a job's due times, until it is resumed or the pause is over.

        One that is paused is in the new pause from now on, or by `keep` stays in its own.
        """
        author = Author(author.name, pause.reason)
        decide = decisions.pause_if_active if keep else decisions.pause
        return await self._change(
            team,
            name,
            lambda job, moment: decide(job, pause, moment),
            author,
            dry_run=dry_run,
        )

    async def resume(
        self,
        team: str,
        name: str,
        missed: Missed = "skip",
        author: Author = NOBODY,
        *,
        dry_run: bool = False,
    ) -> Changed:
        """Go on with a paused or quarantined job, after deciding about what was missed."""
        return await self._change(
            team, name, lambda job, _: decisions.resume(job, missed), author, dry_run=dry_run
        )

    async def relabel(
        self,
        team: str,
        name: str,
        wanted: Relabel,
        author: Author = NOBODY,
        *,
        dry_run: bool = False,
    ) -> Changed:
        """Add labels to a job and drop others, and leave all else as it is."""
        check(wanted.problems())
        return await self._change(
            team,
            name,
            lambda job, _: decisions.relabel(job, wanted.add, wanted.drop),
            author,
            dry_run=dry_run,
        )

    async def roll_back(
        self,
        team: str,
        name: str,
        revision: int,
        author: Author = NOBODY,
        *,
        dry_run: bool = False,
    ) -> Changed:
        """Put what a job was by an earlier revision, as a new one. A paused job stays paused.

        Raises NotFoundError when that revision is not kept, ConflictError when it can't be read.
        """
        check_name("team", team)
        check_name("name", name)
        check(reason_problems(author.reason))

        async def step(tx: JobTransaction) -> tuple[UUID, JobSpec]:
            job = await tx.lock_job(team, name)
            if job is None:
                raise NotFoundError(f"team {team} has no job {name!r}")
            spec = await tx.spec_of(job, revision)
            if spec is None:
                message = f"the job {name!r} has no revision {revision} (any more)"
                raise NotFoundError(message)
            return job.id, spec

        try:
            job_id, spec = await self._changes.transact(step)
        except DecodeError as error:
            message = f"revision {revision} can't be read by this version: {error}"
            raise ConflictError(message) from error
        check(spec.problems())

        def decide(job: LockedJob, _: Moment) -> JobChange | None:
            if job.id != job_id:
                raise ConflictError("the job was deleted and made anew meanwhile")
            return decisions.replace(job, spec)

        return await self._change(team, name, decide, author, dry_run=dry_run, chains={})

    async def delete(
        self, team: str, name: str, author: Author = NOBODY, *, force: bool = False
    ) -> Changed:
        """End a job. What waits is cancelled and what runs is not tried again; its history stays,
        and its name is free again. Raises ConflictError while others follow it, without `force`.
        """
        return await self._change(
            team, name, lambda job, _: decisions.delete(job, force=force), author, chains={}
        )

    async def override(
        self, team: str, name: str, override: Override, author: Author = NOBODY
    ) -> Changed:
        """Skip or move one occurrence of a job; one that has an override is decided anew."""
        check(problems(override))
        return await self._change(
            team,
            name,
            lambda job, moment: decisions.override(job, override, moment),
            Author(author.name, override.reason),
        )

    async def restore(
        self, team: str, name: str, due_at: datetime, author: Author = NOBODY
    ) -> Changed:
        """Undo an override."""
        return await self._change(
            team, name, lambda job, moment: decisions.restore(job, due_at, moment), author
        )

    async def sync_calendars(self, team: str, name: str) -> Changed:
        """Let an active job keep to the current versions of its calendars from now on."""
        author = Author(ENGINE, "a calendar has changed")
        return await self._change(team, name, lambda job, _: decisions.sync_calendars(job), author)

    async def _put(
        self,
        team: str,
        spec: JobSpec,
        author: Author,
        *,
        dry_run: bool,
        beside: Upstream = MappingProxyType({}),
    ) -> Changed:
        job_id = self._new_id()

        async def create(tx: JobTransaction) -> Changed | None:
            return await create_job(tx, job_id, team, spec, author, beside)

        return await change_job(
            self._changes,
            team,
            spec.name,
            lambda job, _: decisions.replace(job, spec),
            author=author,
            create=create,
            dry_run=dry_run,
            chains=beside if spec.upstream else None,
        )

    async def _change(
        self,
        team: str,
        name: str,
        decide: Decide,
        author: Author,
        *,
        dry_run: bool = False,
        chains: Upstream | None = None,
    ) -> Changed:
        check_name("team", team)
        check_name("name", name)
        check(reason_problems(author.reason))
        done = await change_job(
            self._changes, team, name, decide, author=author, dry_run=dry_run, chains=chains
        )
        if not dry_run:
            await notify_changed(self._hints, [done])
        return done

    def _new_id(self) -> UUID:
        return UUID(int=self._rng.getrandbits(128), version=4)


def _raise_first(results: Sequence[Changed | BaseException]) -> None:
    """Raise what is wrong with the jobs of a list: all of it if it is their owner's, or else the
    first that came.
    """
    wrong = [(i, error) for i, error in enumerate(results) if isinstance(error, InvalidInputError)]
    check([problem for i, error in wrong for problem in below(f"jobs[{i}]", error.problems)])
    for error in results:
        if isinstance(error, BaseException):
            raise error
