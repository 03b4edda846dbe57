"""A schedule as its owner writes it."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Literal

import msgspec

from matins.domain.schedules.after_jobs import AfterJobs
from matins.domain.schedules.cron.clock_changes import ClockChanges
from matins.domain.schedules.cron.expression import Dialect

Spread = Literal["run", "job"]
OnClosed = Literal["skip", "next_business_day", "previous_business_day"]


class Times(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Due times of one kind: exactly one of `cron`, `every`, `at` and `rrule`.

    `anchor` is for `every`, `dialect` and `dst` for `cron`. Instants without an offset are local
    times in `timezone`; a member of `any_of` without one has that of its schedule.
    """

    EXAMPLE: ClassVar[str] = '{cron: "0 9 * * *"}'

    cron: str | None = None
    every: str | None = None
    at: str | list[str] | None = None
    rrule: str | None = None
    anchor: str | None = None
    dialect: Dialect = "unix"
    dst: ClockChanges | None = None
    timezone: str | None = None

    @property
    def instants(self) -> list[str]:
        """What `at` lists, which may be a single text; empty if it is not set."""
        return [self.at] if isinstance(self.at, str) else self.at or []


class Schedule(Times, frozen=True, omit_defaults=True, forbid_unknown_fields=True, dict=True):
    """When a job is due, in an IANA time zone: one kind of due times, or a union of several.

    `starts_at` and `ends_at` are inclusive. `max_runs` counts due times from when the schedule was
    set. With `after: end` the interval counts from the end of the last run; with `after: {jobs: …}`
    it is due with the runs of other jobs. The job is deleted `delete_after` its last run has ended.
    `on_closed` says what becomes of a due time at which one of the team's `calendars` is closed.
    """

    timezone: str = "UTC"
    any_of: list[Times] | None = None
    after: Literal["due", "end"] | AfterJobs = "due"
    jitter: str = "0s"
    spread: Spread = "run"
    starts_at: str | None = None
    ends_at: str | None = None
    max_runs: int | None = None
    delete_after: str | None = None
    calendars: list[str] = []
    on_closed: OnClosed = "skip"

    def kinds(self) -> list[Times]:
        """Return the members of the union; the schedule itself where it is none."""
        return [self] if self.any_of is None else self.any_of

    @property
    def follows_end(self) -> bool:
        """Whether a due time depends on when the run before it has ended."""
        return self.after == "end"

    @property
    def chain(self) -> AfterJobs | None:
        """The jobs with whose runs it is due, if that is how it is due."""
        return self.after if isinstance(self.after, AfterJobs) else None


class Override(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One occurrence of a job that is not to run at its due time: moved, or else skipped."""

    due_at: datetime
    move_to: datetime | None = None
    reason: str = ""
