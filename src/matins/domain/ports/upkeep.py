"""What the upkeep needs of the world; see `domain.ports` for what holds of every port."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import date, datetime
from typing import Protocol
from uuid import UUID

from matins.domain.runs.following import RecordedRun
from matins.domain.upkeep.auto_delete import EndedJob
from matins.domain.upkeep.healing import Repaired, StrayRun
from matins.domain.upkeep.retention import Cut, DaySpan, JobRetention, OldRun, Scope, Walk
from matins.domain.upkeep.snapshots import OldestSnapshot
from matins.domain.upkeep.zone_data import ComputedWith, Correction, ScheduledJob


class RunRepairs(Protocol):
    """The rows that belong beside a run, by its state. The run's own row is what counts."""

    async def repair(self, after: UUID, limit: int, min_age_s: float) -> Repaired:
        """Put back what is missing beside a page of runs, by id, of those outside the history.

        A queued run gets its place on the dispatch queue, a waiting or retrying one its place in
        the waiting room. Passed over is a run that was claimed less than `min_age_s` seconds ago.
        """

    async def free_permits(self) -> list[UUID]:
        """Give back the permits of runs that are neither queued nor running; return those runs.

        What is queued or runs without its permit gets none: it ends soon, and counts no more then.
        """

    async def stray_runs(self, run_ids: Collection[UUID]) -> list[StrayRun]:
        """Return those of the runs that run on an unknown executor, or are in no hand-out of
        theirs.
        """

    async def hand_out_again(self, executor: UUID, run_ids: Collection[UUID]) -> None:
        """Make a hand-out of runs without one, under a number that no poll has.

        An executor that lives gives it back at its next heartbeat, and what one held that ended, or
        isn't even known, is lost. A run that has gone on since, or has a hand-out, is left alone.
        """


class EndedJobs(Protocol):
    """Jobs that are to be deleted some time after their last run."""

    async def ended_jobs(self, after: UUID, limit: int) -> list[EndedJob]:
        """Return a page, by id, of active jobs with `delete_after` that have no next due time."""


class NextDueTimes(Protocol):
    """The next due times of jobs, and the zone data with which they were computed."""

    async def computed_with(self) -> ComputedWith:
        """Return the zone data with which all of them were computed last."""

    async def record_version(self, version: str) -> None:
        """Save that they are all computed with this version now; never an older one."""

    async def jobs_ahead(self, after: UUID, now: datetime, limit: int) -> list[ScheduledJob]:
        """Return a page, by id, of active jobs with a next due time after `now`.

        Left out is a job that follows the ends of its runs. One that can't be read has a fault.
        """

    async def newest_runs(self, job_ids: Collection[UUID]) -> Mapping[UUID, RecordedRun]:
        """Return the newest scheduled run of each of these jobs that has any."""

    async def correct(self, corrections: Sequence[Correction]) -> int:
        """Write new revisions; returns how many.

        A job that was changed, or has come due since, is left as it is.
        """


class Snapshots(Protocol):
    """Snapshots of the database."""

    async def oldest_snapshot(self) -> OldestSnapshot | None:
        """Return the oldest snapshot that anybody else holds."""


class Locks(Protocol):
    """Work that one process does at a time, whoever it is."""

    def alone(self, work: str) -> AbstractAsyncContextManager[bool]:
        """Keep all others from this work until the end of the context; False while one does it."""


class DayTables(Protocol):
    """The tables of runs and attempts, one for each day (UTC) of due times.

    Days of which something may still happen are in reach of the hot statements. All others are in
    the history.
    """

    async def today(self) -> date:
        """Return the day that it is, by the database's clock."""

    async def make(self, first: date, last: date) -> None:
        """Make the tables of some days in a row, where they are missing."""

    async def days_over(self) -> list[date]:
        """Return the days that are over and not in the history yet; oldest first."""

    async def detach(self, day: date) -> bool:
        """Move a day to the history as a whole; False while something of it goes on.

        Raises BlockedError when others would have to wait for it.
        """

    async def past_days(self, before: date) -> list[date]:
        """Return the days of the history before that one; oldest first."""

    async def drop(self, day: date) -> None:
        """Drop a day of the history; what outlives it is kept elsewhere. Raises BlockedError."""


class Retention(Protocol):
    """Runs in the history, and what is kept of them."""

    async def scope(self) -> Scope:
        """For how long any job keeps runs, and whether some keep theirs otherwise."""

    async def runs_of(self, day: date, after: UUID, limit: int) -> list[OldRun]:
        """Return a page of a day's runs, by id."""

    async def walk(self) -> Walk:
        """Return how far the walk over all jobs has come."""

    async def record_walk(self, after: UUID | None, began_at: datetime) -> None:
        """Save how far it has come; None: to its end."""

    async def jobs(self, after: UUID, limit: int) -> list[JobRetention]:
        """Return a page of jobs, by id. Left out is a job whose runs count towards its
        `max_runs`.
        """

    async def nth_newest(self, job_id: UUID, nth: int, *, succeeded: bool) -> datetime | None:
        """Return when the n-th newest run of a job was due; None if it has fewer."""

    async def spans(self, until: datetime) -> list[DaySpan]:
        """Return all days up to that instant that may have rows; oldest first."""

    async def old_runs(self, span: DaySpan, cuts: Sequence[Cut], limit: int) -> list[OldRun]:
        """Some runs of these days that are too old. One with an open dead letter stays."""

    async def delete_runs(self, span: DaySpan, run_ids: Collection[UUID]) -> None:
        """Delete runs of these days, with their attempts."""

    async def record_purged(self, cuts: Sequence[Cut]) -> None:
        """Save up to when runs of jobs may be gone."""


class Leftovers(Protocol):
    """Rows beside runs that nobody asks for any more. Each call takes `limit` at most."""

    async def forget_handouts(self, before: datetime, limit: int) -> None:
        """Delete hand-outs of executors that ended before that instant, where nothing runs."""

    async def delete_executors(self, before: datetime, limit: int) -> int:
        """Delete executors that ended before that and have no hand-outs; returns their number."""

    async def delete_trigger_keys(self, before: datetime, limit: int) -> int:
        """Delete idempotency keys that were used before that; returns their number."""

    async def delete_revisions(self, before: datetime, limit: int) -> int:
        """Delete revisions that were replaced before that; returns how many were looked at.

        Those of a job with an unfinished backfill stay.
        """

    async def delete_replays(self, before: datetime, limit: int) -> int:
        """Delete some replays that were over before; return how many."""

    async def delete_backfills(self, before: datetime, limit: int) -> int:
        """Delete backfills that came to their end before that; returns their number."""


class Archive(Protocol):
    """Where runs go before they are purged."""

    async def add(self, day: date, lines: Sequence[str]) -> None:
        """Save lines of runs that were due on a day. They are safe when it returns.

        Raises OSError. What is repeated after a crash is there twice.
        """
