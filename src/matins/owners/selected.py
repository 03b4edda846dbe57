"""What owners do to all jobs of a team that have some labels, as one operation.

Each job is changed in a transaction of its own, so that none waits for all. Repeated after a loss,
the operation finishes what was begun: what is done already stays unchanged.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import NamedTuple

import msgspec

from matins.domain.jobs import decisions
from matins.domain.jobs.authors import NOBODY, Author
from matins.domain.jobs.changes import LockedJob
from matins.domain.jobs.decisions import Decide, JobChange, Moment
from matins.domain.jobs.misfire import Missed
from matins.domain.jobs.pausing import NO_END, Pause, reason_problems
from matins.domain.jobs.selecting import JobOutcome, Relabel, SelectionChanged
from matins.domain.ports import Hints
from matins.domain.ports.jobs import JobChanges
from matins.domain.values.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    UnavailableError,
    check,
)
from matins.domain.values.names import check_name
from matins.domain.views import Changed
from matins.owners.changing import change_job, notify_changed

PAGE = 1000
"""The most names that are read by one statement."""

AT_ONCE = 4
"""How many jobs are changed side by side."""

_CHANGES = ("changed", "paused", "resumed")


class Part(NamedTuple):
    """Which of the selected jobs are meant: so many by name, from the one after `after` on."""

    after: str = ""
    limit: int | None = None


ALL = Part()


class SelectedJobs:
    """Pauses, resumes and labels the jobs that a team and labels select; no labels select all.

    A part of them at a time, if that is asked for: so whoever waits knows how far it is.
    """

    def __init__(self, changes: JobChanges, hints: Hints) -> None:
        self._changes = changes
        self._hints = hints

    async def pause(
        self,
        team: str,
        labels: Mapping[str, str],
        pause: Pause = NO_END,
        author: Author = NOBODY,
        *,
        part: Part = ALL,
        dry_run: bool = False,
    ) -> SelectionChanged:
        """Pause them. One that is paused keeps its own pause, and a quarantined one is refused.

        Raises NotFoundError when there is none.
        """
        return await self._change(
            team,
            labels,
            lambda job, moment: decisions.pause_if_active(job, pause, moment),
            Author(author.name, pause.reason),
            part,
            dry_run=dry_run,
        )

    async def resume(
        self,
        team: str,
        labels: Mapping[str, str],
        missed: Missed = "skip",
        author: Author = NOBODY,
        *,
        part: Part = ALL,
        dry_run: bool = False,
    ) -> SelectionChanged:
        """Go on with those that are paused. Raises NotFoundError when there is none at all."""
        return await self._change(
            team,
            labels,
            lambda job, _: decisions.resume_if_paused(job, missed),
            author,
            part,
            dry_run=dry_run,
        )

    async def relabel(
        self,
        team: str,
        labels: Mapping[str, str],
        wanted: Relabel,
        author: Author = NOBODY,
        *,
        part: Part = ALL,
        dry_run: bool = False,
    ) -> SelectionChanged:
        """Add labels to them and drop others; a quarantined one is refused, and one that would have
        too many. Raises NotFoundError when there is none.
        """
        check(wanted.problems())

        def decide(job: LockedJob, _moment: Moment) -> JobChange | None:
            try:
                return decisions.relabel(job, wanted.add, wanted.drop)
            except InvalidInputError as error:  # of this job: it stops none of the others
                raise ConflictError(str(error)) from error

        told = await self._change(team, labels, decide, author, part, dry_run=dry_run)
        jobs = [
            msgspec.structs.replace(outcome, reason="its labels are so already")
            if outcome.change == "unchanged"
            else outcome
            for outcome in told.jobs
        ]
        return msgspec.structs.replace(told, jobs=jobs)

    async def _change(
        self,
        team: str,
        labels: Mapping[str, str],
        decide: Decide,
        author: Author,
        part: Part,
        *,
        dry_run: bool,
    ) -> SelectionChanged:
        check_name("team", team)
        check(reason_problems(author.reason))
        side_by_side = asyncio.Semaphore(AT_ONCE)

        async def change(name: str) -> JobOutcome | None:
            async with side_by_side:
                return await self._change_one(team, name, decide, author, dry_run=dry_run)

        outcomes: list[JobOutcome] = []
        following: str | None = None
        async for names in self._pages(team, labels, part):
            following = names[-1] if len(names) == part.limit else None
            outcomes += [
                outcome
                for outcome in await asyncio.gather(*map(change, names))
                if outcome is not None
            ]
        if not outcomes and not part.after:
            raise NotFoundError(f"team {team} has no job{' with these labels' if labels else ''}")
        return SelectionChanged(
            outcomes,
            changed=sum(outcome.change in _CHANGES for outcome in outcomes),
            skipped=sum(outcome.skipped for outcome in outcomes),
            queued=sum(outcome.queued for outcome in outcomes),
            next=following,
        )

    async def _pages(
        self, team: str, labels: Mapping[str, str], part: Part
    ) -> AsyncIterator[list[str]]:
        after = part.after
        while names := await self._changes.select(team, labels, after, part.limit or PAGE):
            yield names
            after = names[-1]
            if part.limit is not None:
                return

    async def _change_one(
        self, team: str, name: str, decide: Decide, author: Author, *, dry_run: bool
    ) -> JobOutcome | None:
        """Change one job; what is wrong with it alone stops none of the others."""
        try:
            done: Changed = await change_job(
                self._changes, team, name, decide, author=author, dry_run=dry_run
            )
        except NotFoundError:
            return None  # deleted meanwhile
        except (UnavailableError, InvalidInputError):
            raise
        except Exception as error:
            return JobOutcome(name, "refused", reason=str(error))
        if not dry_run:
            await notify_changed(self._hints, [done])
        reason = "" if done.change != "unchanged" else done.job.reason or f"it is {done.job.state}"
        return JobOutcome(name, done.change, done.skipped, done.queued, reason)
