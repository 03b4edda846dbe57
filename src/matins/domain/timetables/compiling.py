"""Compiles a schedule to the timetable of one job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from matins.domain.calendars.compiled import CompiledCalendar
from matins.domain.schedules.after_end import AfterEnd
from matins.domain.schedules.after_jobs import Chained
from matins.domain.schedules.parsing import parse_schedule, problems
from matins.domain.schedules.rrule.kind import RRule
from matins.domain.schedules.schedule import Override, Schedule
from matins.domain.time.civil import DAY_S, FIRST_S, month_start
from matins.domain.time.instants import epoch_s
from matins.domain.timetables.calendar_rule import DUE_PER_DAY_MAX, CalendarRule, is_too_dense
from matins.domain.timetables.overriding import OverriddenRule
from matins.domain.timetables.timetable import Timetable
from matins.domain.values.errors import Problem

_LOOK_FROM: Final = month_start(2026, 0) * DAY_S


class Timing(msgspec.Struct, frozen=True):
    """What decides about a job's due times besides its schedule.

    `anchor` is the job's creation, `since` when its schedule was set.
    """

    anchor: datetime
    since: datetime
    closures: tuple[CompiledCalendar, ...] = ()
    overrides: tuple[Override, ...] = ()

    def compile(self, schedule: Schedule, job_id: UUID | None) -> Timetable:
        """Compile a job's schedule, or that of no job yet. Raises ScheduleError."""
        return compile_schedule(
            schedule,
            seed="" if job_id is None else str(job_id),
            anchor=self.anchor,
            since=self.since,
            closures=self.closures,
            overrides=self.overrides,
        )


def compile_schedule(
    schedule: Schedule,
    *,
    seed: str,
    anchor: datetime,
    since: datetime | None = None,
    closures: Sequence[CompiledCalendar] = (),
    overrides: Sequence[Override] = (),
) -> Timetable:
    """Compile a schedule for the job whose id is `seed`.

    `anchor` (the job's creation) counts for `every` when the schedule has none of its own,
    `max_runs` counts from `since` (by default the anchor). Raises ScheduleError with all that is
    wrong, and where `H` chose a date that never comes.
    """
    parsed = parse_schedule(schedule)
    start = epoch_s(anchor)
    rule = parsed.rule(seed, start, start if since is None else epoch_s(since))
    reason: Callable[[int], str] | None = None
    if closures:
        closed = CalendarRule(rule, closures, schedule.on_closed, parsed.zone)
        rule, reason = closed, closed.skip_reason
    if overrides:
        override = OverriddenRule(rule, reason, overrides)
        rule, reason = override, override.skip_reason
    following = parsed.kind if isinstance(parsed.kind, AfterEnd) else None
    return Timetable(rule, seed, parsed.jitter, reason=reason, following=following)


def job_problems(schedule: Schedule) -> list[Problem]:
    """Return all that `problems` finds, and also what only a preview may have.

    A job is due at least once, and what is due very often can't be moved to other days.
    """
    if found := problems(schedule):
        return found
    parsed = parse_schedule(schedule)
    if isinstance(parsed.kind, AfterEnd | Chained):
        return []
    rule = parsed.rule("", 0, 0)
    if rule.next_after(FIRST_S - 1) is None:
        message = "can never be due; no instant matches the whole of it"
        return [Problem("rrule" if isinstance(parsed.kind, RRule) else "", message)]
    if schedule.on_closed != "skip" and is_too_dense(rule, _LOOK_FROM):
        message = (
            f"can't be {schedule.on_closed} for what is due more than {DUE_PER_DAY_MAX} times"
            " in a day; write skip"
        )
        return [Problem("on_closed", message)]
    return []
