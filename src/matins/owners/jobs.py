"""What owners do to their jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from random import Random
from types import MappingProxyType
from uuid import UUID

from matins.domain.jobs import decisions
from matins.domain.jobs.chains import Upstream, by_dependency
from matins.domain.jobs.decisions import Decide
from matins.domain.jobs.misfire import Missed
from matins.domain.jobs.overrides import problems
from matins.domain.jobs.spec import JobList, JobSpec
from matins.domain.ports import Hints
from matins.domain.ports.jobs import JobChanges, JobTransaction
from matins.domain.schedules.schedule import Override
from matins.domain.values.errors import ConflictError, InvalidInputError, below, check
from matins.domain.values.names import check_name
from matins.domain.views import Changed
from matins.kernel.hints import notify
from matins.owners.changing import change_job, create_job

AT_ONCE = 4
"""How many of many jobs are put side by side."""


class Jobs:
    """Makes and changes jobs, each in a transaction of its own, then notifies the schedulers."""

    def __init__(self, changes: JobChanges, hints: Hints, rng: Random) -> None:
        """`rng` draws the ids of new jobs."""
        self._changes = changes
        self._hints = hints
        self._rng = rng

    async def create(self, team: str, spec: JobSpec) -> Changed:
        """Make a job. Raises ConflictError when the team has one of that name."""
        check_name("team", team)
        check(spec.problems())
        job_id = self._new_id()

        async def step(tx: JobTransaction) -> Changed | None:
            if spec.upstream:
                await tx.lock_chains(team)
            return await create_job(tx, job_id, team, spec, {})

        made = await self._changes.transact(step)
        if made is None:
            raise ConflictError(
                f"team {team} has a job {spec.name!r} already; replace it by PUT, or delete it"
            )
        await self._notify([made])
        return made

    async def put(self, team: str, spec: JobSpec, *, dry_run: bool = False) -> Changed:
        """Make a job or replace it; an equal one is left as it is. A paused job stays paused."""
        check_name("team", team)
        check(spec.problems())
        done = await self._put(team, spec, dry_run=dry_run)
        if not dry_run:
            await self._notify([done])
        return done

    async def put_all(self, team: str, jobs: JobList, *, dry_run: bool = False) -> list[Changed]:
        """Make or replace jobs, each in a transaction of its own, after those that it follows.

        Nothing is done where one is wrong in itself. Where one can't be put after all, the others
        are; repeat it then, or if its end is unknown.
        """
        check_name("team", team)
        check(jobs.problems())
        side_by_side = asyncio.Semaphore(AT_ONCE)

        async def put(spec: JobSpec) -> Changed:
            async with side_by_side:
                return await self._put(team, spec, dry_run=dry_run, beside=beside)

        beside = {spec.name: spec.upstream for spec in jobs.jobs if dry_run}
        answers: dict[int, Changed | BaseException] = {}
        for group in by_dependency(jobs.jobs):
            puts = (put(jobs.jobs[index]) for index in group)
            found = await asyncio.gather(*puts, return_exceptions=True)
            answers |= dict(zip(group, found, strict=True))
        results = [answers[index] for index in range(len(jobs.jobs))]
        done = [result for result in results if isinstance(result, Changed)]
        if not dry_run:
            await self._notify(done)
        _raise_first(results)
        return done

    async def pause(self, team: str, name: str) -> Changed:
        """Stop claiming a job's due times, until it is resumed."""
        return await self._change(team, name, lambda job, _: decisions.pause(job))

    async def resume(self, team: str, name: str, missed: Missed = "skip") -> Changed:
        """Go on with a paused or quarantined job, after deciding about what was missed."""
        return await self._change(team, name, lambda job, _: decisions.resume(job, missed))

    async def delete(self, team: str, name: str, *, force: bool = False) -> Changed:
        """End a job. What waits is cancelled and what runs is not tried again; its history stays,
        and its name is free again. Raises ConflictError while others follow it, without `force`.
        """
        return await self._change(
            team, name, lambda job, _: decisions.delete(job, force=force), chains={}
        )

    async def override(self, team: str, name: str, override: Override) -> Changed:
        """Skip or move one occurrence of a job; one that has an override is decided anew."""
        check(problems(override))
        return await self._change(
            team, name, lambda job, moment: decisions.override(job, override, moment)
        )

    async def restore(self, team: str, name: str, due_at: datetime) -> Changed:
        """Undo an override."""
        return await self._change(
            team, name, lambda job, moment: decisions.restore(job, due_at, moment)
        )

    async def sync_calendars(self, team: str, name: str) -> Changed:
        """Let an active job keep to the current versions of its calendars from now on."""
        return await self._change(team, name, lambda job, _: decisions.sync_calendars(job))

    async def _put(
        self, team: str, spec: JobSpec, *, dry_run: bool, beside: Upstream = MappingProxyType({})
    ) -> Changed:
        job_id = self._new_id()

        async def create(tx: JobTransaction) -> Changed | None:
            return await create_job(tx, job_id, team, spec, beside)

        return await change_job(
            self._changes,
            team,
            spec.name,
            lambda job, _: decisions.replace(job, spec),
            create=create,
            dry_run=dry_run,
            chains=beside if spec.upstream else None,
        )

    async def _change(
        self, team: str, name: str, decide: Decide, *, chains: Upstream | None = None
    ) -> Changed:
        check_name("team", team)
        check_name("name", name)
        done = await change_job(self._changes, team, name, decide, chains=chains)
        await self._notify([done])
        return done

    async def _notify(self, changes: Sequence[Changed]) -> None:
        """Let schedulers look at the jobs, and gateways at what was queued."""
        if jobs := [str(change.job.id) for change in changes if change.change != "unchanged"]:
            await notify(self._hints, "jobs", *jobs)
        if pools := {change.job.spec.pool for change in changes if change.queued}:
            await notify(self._hints, "dispatch", *sorted(pools))

    def _new_id(self) -> UUID:
        return UUID(int=self._rng.getrandbits(128), version=4)


def _raise_first(results: Sequence[Changed | BaseException]) -> None:
    """Raise what is wrong with the jobs of a list: all of it if it is their owner's, or else the
    first that came.
    """
    wrong = [(i, error) for i, error in enumerate(results) if isinstance(error, InvalidInputError)]
    check([found for i, error in wrong for found in below(f"jobs[{i}]", error.problems)])
    for error in results:
        if isinstance(error, BaseException):
            raise error
