"""When a schedule will be due, for people to look at before they trust it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from matins.domain.answers import DueTime, Preview
from matins.domain.errors import InvalidInputError, Problem
from matins.domain.schedules.checking import problems
from matins.domain.schedules.compiling import compile_schedule
from matins.domain.schedules.instants import epoch_s
from matins.domain.schedules.schedule import Schedule
from matins.domain.schedules.zones import find_zone

COUNT_MAX = 1000
"""The most due times of one preview."""


def preview(schedule: Schedule, count: int, after: datetime) -> Preview:
    """Give the next due times after an instant. Raises InvalidInputError.

    The values of `H` differ from job to job: here they are those of no job in particular.
    """
    found = [Problem(f"schedule.{it.where}", it.message) for it in problems(schedule)]
    if not 1 <= count <= COUNT_MAX:
        found.append(Problem("count", f"is {count}; it must be from 1 to {COUNT_MAX}"))
    if found:
        raise InvalidInputError(found)
    timetable = compile_schedule(schedule, seed="", anchor=after)
    zone = find_zone(schedule.timezone)
    due: list[DueTime] = []
    at = timetable.next_after(after)
    while at is not None and len(due) < count:
        offset = timedelta(seconds=zone.offset_at(epoch_s(at)))
        due.append(DueTime(utc=at, local=at.astimezone(timezone(offset))))
        at = timetable.next_after(at)
    return Preview(schedule.timezone, due)
