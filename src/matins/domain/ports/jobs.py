"""What changes of jobs need of the world: one transaction each. See `domain.ports`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol, TypeVar
from uuid import UUID

from matins.domain.calendars.compiled import CompiledCalendar
from matins.domain.jobs.changes import JobRef, LockedJob
from matins.domain.jobs.limits import JobQuota
from matins.domain.jobs.revisions import JobRevision
from matins.domain.jobs.spec import JobSpec
from matins.domain.runs.chains import LeaderRows
from matins.domain.runs.claims import Claim
from matins.domain.runs.following import RecordedRun
from matins.domain.timetables.next_due import NextDue

T = TypeVar("T")


class CalendarVersion(NamedTuple):
    """One version of a calendar, and when it is closed."""

    id: int
    closures: CompiledCalendar


class JobTransaction(Protocol):
    """What one transaction reads and writes: it sees its own writes, all others see them at once
    when it commits. Whatever a method raises, the transaction is undone.
    """

    async def now(self) -> datetime:
        """Return the database's clock, read now."""

    async def lock_job(self, team: str, name: str) -> LockedJob | None:
        """Lock a job until the end, so that all other changes of it wait; None if there is none.

        Raises ScheduleError when one of its calendars can't be read.
        """

    async def current_calendars(
        self, team: str, names: Sequence[str]
    ) -> Mapping[str, CalendarVersion]:
        """Return those of a team's calendars that exist; they stay the current ones until the
        end.
        """

    async def stopped_since(self, job: LockedJob) -> datetime | None:
        """Since when a job has been in its state with its schedule; None if that is not known."""

    async def newest_run(self, job_id: UUID) -> RecordedRun | None:
        """Return the scheduled run with the latest due time."""

    async def purged_until(self, job_id: UUID) -> datetime | None:
        """Return up to when rows of a job may have been purged; None if none was."""

    async def runs_between(
        self, job_id: UUID, since: datetime, until: datetime
    ) -> list[RecordedRun]:
        """Return the scheduled runs with due times in a span, both ends included, in order."""

    async def count_runs(self, job_id: UUID, since: datetime) -> int:
        """Return how many scheduled runs have due times after an instant."""

    async def lock_chains(self, team: str) -> None:
        """Let nobody else change which jobs of a team follow which, until the end."""

    async def upstream(self, team: str, names: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Return those of these jobs that are there, and all that they follow, on whatever way:
        each with those that it follows itself.
        """

    async def downstream(self, team: str, name: str) -> list[str]:
        """Return the jobs that follow a job themselves, by name."""

    async def leader_rows(
        self, job: LockedJob, after: datetime, until: datetime, limit: int
    ) -> LeaderRows:
        """Return the rows of the job that leads a chain which are due in a span, in order."""

    async def record(self, job: LockedJob, claims: Sequence[Claim], at: datetime) -> set[UUID]:
        """Insert runs that have no row yet, and put the queued ones on the dispatch queue.

        Returns the ids of those that were inserted. Waits for claims of the same due times that are
        under way.
        """

    async def advance(self, job_id: UUID, next_due: NextDue) -> None:
        """Write what is next of an active job, which goes on as it is."""

    async def job_quota(self, team: str) -> JobQuota | None:
        """Return how many jobs a team has and may have, and lock that; None: no limit."""

    async def insert_job(self, job_id: UUID, team: str, revision: JobRevision) -> bool:
        """Make a job, and its team on first use; False if the name is taken."""

    async def spec_of(self, job: LockedJob, revision: int) -> JobSpec | None:
        """Return what a job was by an earlier revision; None if that is not kept.

        Raises DecodeError when it can't be read.
        """

    async def write_revision(self, job: LockedJob, revision: JobRevision) -> None:
        """Write what a locked job becomes."""

    async def cancel_waiting(self, job: LockedJob) -> int:
        """Cancel all runs of a job that wait, for an executor or a retry; returns how many."""

    async def has_unfinished_runs(self, job_id: UUID) -> bool:
        """Return whether a run of a job, of any kind, has not ended."""


class JobChanges(Protocol):
    """Changes of jobs."""

    async def transact(
        self, step: Callable[[JobTransaction], Awaitable[T]], *, dry_run: bool = False
    ) -> T:
        """Play a step in one transaction, commit it, and return what it returned.

        It is undone if the step raises, and by a `dry_run`. A step may be played again after it was
        undone, so it remembers nothing. Raises UnavailableError, BlockedError.
        """

    async def select(
        self, team: str, labels: Mapping[str, str], after: str, limit: int
    ) -> list[str]:
        """Return the names of a team's jobs that have all these labels, from after that one on."""

    async def ended_pauses(
        self, besides: Collection[UUID], limit: int
    ) -> list[tuple[UUID, str, str]]:
        """Return id, team and name of jobs whose pause should have ended by now."""


class PausedJobs(Protocol):
    """Jobs that are paused until a time."""

    async def end_pauses(self) -> None:
        """Let all those go on whose time has come, each in a transaction of its own."""


class JobUpkeep(Protocol):
    """What the upkeep changes of jobs, each in a transaction, by the rules of their owners."""

    async def delete_ended(self, job: JobRef, reason: str) -> bool:
        """Delete a job, if it is unchanged and has neither a next due time nor a run that goes on.

        The reason stands in the job's row.
        """

    async def skip_missing(
        self, job: JobRef, *, after: datetime, now: datetime, reason: str
    ) -> bool:
        """Record as skipped what was due between two instants and has no row.

        Returns False if the job has changed.
        """
