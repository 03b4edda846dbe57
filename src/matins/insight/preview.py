"""When a schedule will be due, for people to look at before they trust it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from matins.domain.jobs.windows import Policy, Window, window_at
from matins.domain.schedules.parsing import problems
from matins.domain.schedules.schedule import Schedule
from matins.domain.time.instants import epoch_s, local_time
from matins.domain.time.zones import Zone, data_version, find_zone
from matins.domain.timetables.compiling import Timing
from matins.domain.timetables.timetable import Timetable
from matins.domain.values.errors import Problem, below, check
from matins.domain.views import DueTime, Preview
from matins.insight.explain.sentences import explain
from matins.insight.explain.warnings import warnings

COUNT_MAX = 1000
"""The most due times of one preview."""

_DONE: Final[dict[Policy, str]] = {"hold": "held", "skip": "skipped"}


class PreviewedJob(msgspec.Struct, frozen=True):
    """The schedule that is looked at: a job's with its id, or that of no job yet.

    `next_due_at` is the job's, which counts where a due time follows from the end of a run.
    """

    schedule: Schedule
    timing: Timing
    job_id: UUID | None = None
    next_due_at: datetime | None = None

    @property
    def seed(self) -> str:
        """By what `H` and jitter choose."""
        return "" if self.job_id is None else str(self.job_id)


def check_request(schedule: Schedule, count: int) -> None:
    """Raise InvalidInputError if there is anything wrong with what is asked."""
    faults = below("schedule", problems(schedule))
    if not 1 <= count <= COUNT_MAX:
        faults.append(Problem("count", f"is {count}; it must be from 1 to {COUNT_MAX}"))
    check(faults)


def preview(subject: PreviewedJob, count: int, after: datetime) -> Preview:
    """Return the next due times after an instant, what they mean, and what may surprise in them.

    Raises InvalidInputError. Without a job the values of `H` are those of no job in particular.
    """
    schedule, anchor = subject.schedule, subject.timing.anchor
    check_request(schedule, count)
    timetable = subject.timing.compile(schedule, subject.job_id)
    return Preview(
        timezone=schedule.timezone,
        due=_next(subject, timetable, count, after),
        sentence=explain(schedule, seed=subject.seed, anchor=anchor),
        warnings=[
            *_unseen(subject),
            *warnings(schedule, timetable, after, seed=subject.seed, anchor=anchor),
        ],
        zone_data=data_version(),
    )


def due_times(subject: PreviewedJob, count: int, after: datetime) -> list[DueTime]:
    """Return the next due times after an instant. Raises ScheduleError, InvalidInputError."""
    timetable = subject.timing.compile(subject.schedule, subject.job_id)
    return _next(subject, timetable, count, after)


def _next(
    subject: PreviewedJob, timetable: Timetable, count: int, after: datetime
) -> list[DueTime]:
    zone = find_zone(subject.schedule.timezone)
    due: list[DueTime] = []
    at = timetable.next_after(after)
    if subject.schedule.follows_end:
        at = subject.next_due_at
    while at is not None and len(due) < count:
        due.append(_shown(timetable, at, zone))
        at = timetable.next_after(at)
    return due


def under_windows(
    preview: Preview, windows: Sequence[Window], labels: Mapping[str, str]
) -> Preview:
    """Add what maintenance windows will do to the runs of a job with these labels, as they are now.

    Runs meet a window at their fire time, if they are claimed on time.
    """
    due = [_under(due, window_at(windows, labels, due.fire_at)) for due in preview.due]
    return msgspec.structs.replace(preview, due=due)


def _under(due: DueTime, window: Window | None) -> DueTime:
    if window is None or due.skipped:
        return due
    return msgspec.structs.replace(due, **{_DONE[window.policy]: window.run_reason})


def _unseen(subject: PreviewedJob) -> list[str]:
    """Warn of calendars that were not looked at, because whose they are is not known."""
    if subject.timing.closures or not subject.schedule.calendars:
        return []
    names = ", ".join(subject.schedule.calendars)
    return [f"what is closed in {names} is not shown: calendars are known to the API only"]


def _shown(timetable: Timetable, at: datetime, zone: Zone) -> DueTime:
    second = epoch_s(at)
    local = local_time(second, zone.offset_at(second))
    return DueTime(
        utc=at,
        local=local,
        fire_at=timetable.fire_time(at),
        skipped=timetable.skip_reason(second),
    )
