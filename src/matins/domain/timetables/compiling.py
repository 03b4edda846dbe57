"""Compiles a schedule to the timetable of one job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Final
from uuid import UUID

import msgspec

from matins.domain.calendars.closures import Closures
from matins.domain.schedules.at import InstantsRule
from matins.domain.schedules.checking import check_count, check_kind, problems, whole_seconds
from matins.domain.schedules.combinators import LimitedRule, NoRule, UnionRule, nth_after
from matins.domain.schedules.cron.clock_changes import ClockChanges, cron_rule
from matins.domain.schedules.cron.expression import Dialect, is_hashed, parse_cron
from matins.domain.schedules.every import Following, IntervalRule, parse_interval
from matins.domain.schedules.rrule.recurrences import read_recurrence
from matins.domain.schedules.rules import Rule
from matins.domain.schedules.schedule import Override, Schedule, Spread, Times
from matins.domain.time.civil import DAY_S, FIRST_S, LAST_S, month_start
from matins.domain.time.instants import epoch_s, instant_of, parse_instant
from matins.domain.time.zones import find_zone
from matins.domain.timetables.closing import DUE_PER_DAY_MAX, ClosedRule, is_too_dense
from matins.domain.timetables.overriding import OverriddenRule
from matins.domain.timetables.timetable import Jitter, Timetable
from matins.domain.values.errors import Problem, ScheduleError

_SHARED_MAX: Final = 16_384
_UNLIMITED: Final = (None, None, None, "due")
_EPOCH: Final = instant_of(0)
_LOOK_FROM: Final = month_start(2026, 0) * DAY_S


class Timing(msgspec.Struct, frozen=True):
    """What decides about a job's due times besides its schedule.

    `anchor` is the job's creation, `since` when its schedule was set.
    """

    anchor: datetime
    since: datetime
    closures: tuple[Closures, ...] = ()
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
    closures: Sequence[Closures] = (),
    overrides: Sequence[Override] = (),
) -> Timetable:
    """Compile a schedule for the job whose id is `seed`.

    `anchor` (the job's creation) counts for `every` when the schedule has none of its own,
    `max_runs` counts from `since` (by default the anchor). Raises ScheduleError with all that
    `problems` finds.
    """
    try:
        rule, last, following = _bounded(schedule, seed, anchor, since or anchor)
        end = LAST_S if schedule.ends_at is None else last
        jitter = _jitter(schedule.jitter, schedule.spread, end)
    except ScheduleError as error:
        # Nothing is found when it is only this seed whose `H` chose a date that never comes.
        found = problems(schedule) or [Problem("cron", str(error))]
        raise ScheduleError("; ".join(f"{p.where}: {p.message}" for p in found)) from error
    reason: Callable[[int], str] | None = None
    if closures:
        closed = ClosedRule(rule, closures, schedule.on_closed, find_zone(schedule.timezone))
        rule, reason = closed, closed.skip_reason
    if overrides:
        override = OverriddenRule(rule, reason, overrides)
        rule, reason = override, override.skip_reason
    return Timetable(rule, seed, jitter, reason=reason, following=following)


def job_problems(schedule: Schedule) -> list[Problem]:
    """As `problems`, and also what only a preview may have.

    A job is due at least once, and what is due very often can't be moved to other days.
    """
    if found := problems(schedule):
        return found
    if schedule.follows_end:
        return []
    rule, _, _ = _bounded(schedule, "", _EPOCH, _EPOCH)
    if rule.next_after(FIRST_S - 1) is None:
        message = "can never be due; no instant matches the whole of it"
        return [Problem("rrule" if schedule.rrule is not None else "", message)]
    if schedule.on_closed != "skip" and is_too_dense(rule, _LOOK_FROM):
        message = (
            f"can't be {schedule.on_closed} for what is due more than {DUE_PER_DAY_MAX} times"
            " in a day; write skip"
        )
        return [Problem("on_closed", message)]
    return []


@lru_cache(maxsize=_SHARED_MAX)
def _jitter(text: str, spread: Spread, last: int) -> Jitter:
    return Jitter(whole_seconds(text), spread == "job", last)


def _bounded(
    schedule: Schedule, seed: str, anchor: datetime, since: datetime
) -> tuple[Rule, int, Following | None]:
    """Give the rule within its limits, its end, and what follows ends of runs."""
    starts, ends, max_runs = schedule.starts_at, schedule.ends_at, schedule.max_runs
    if (starts, ends, max_runs, schedule.after) == _UNLIMITED:
        return _rule(schedule, seed, anchor), LAST_S, None
    zone = find_zone(schedule.timezone)
    first = FIRST_S if starts is None else parse_instant(starts, zone)
    last = LAST_S if ends is None else parse_instant(ends, zone)
    if schedule.follows_end and schedule.every is not None:
        interval = parse_interval(schedule.every)
        return NoRule(), last, Following(interval, zone, first, last, schedule.max_runs)
    rule = _rule(schedule, seed, anchor if starts is None else instant_of(first))
    if max_runs is not None:
        first = max(first, epoch_s(since) + 1)
        counted = LimitedRule(rule, first, last)
        last = nth_after(counted, epoch_s(since), max_runs) or FIRST_S
    return LimitedRule(rule, first, last), last, None


def _rule(schedule: Schedule, seed: str, anchor: datetime) -> Rule:
    members = schedule.any_of
    if members is None:
        return _times_rule(schedule, schedule.timezone, seed, anchor)
    check_kind(schedule)
    return UnionRule(
        [_times_rule(it, it.timezone or schedule.timezone, seed, anchor) for it in members]
    )


def _times_rule(times: Times, timezone: str, seed: str, anchor: datetime) -> Rule:
    if times.cron is None or not times.every is times.at is times.rrule is times.anchor is None:
        check_kind(times)
    if times.cron is not None:
        shared = _shared_cron(times.cron, times.dialect, timezone, times.dst)
        return shared or _cron(times.cron, times.dialect, timezone, times.dst, seed)
    zone = find_zone(timezone)
    if times.every is not None:
        own = times.anchor
        start = epoch_s(anchor) if own is None else parse_instant(own, zone)
        return IntervalRule(parse_interval(times.every), start, zone)
    if times.rrule is not None:
        return _shared_rrule(times.rrule, timezone, epoch_s(anchor))
    check_count(times.instants)
    return InstantsRule([parse_instant(text, zone) for text in times.instants])


@lru_cache(maxsize=_SHARED_MAX)
def _shared_cron(
    expression: str, dialect: Dialect, timezone: str, dst: ClockChanges | None
) -> Rule | None:
    """Compile what is the same for every job; None when `H` makes it differ."""
    if is_hashed(expression, dialect):
        return None
    return _cron(expression, dialect, timezone, dst, "")


def _cron(
    expression: str, dialect: Dialect, timezone: str, dst: ClockChanges | None, seed: str
) -> Rule:
    return cron_rule(parse_cron(expression, dialect, seed), find_zone(timezone), dst)


@lru_cache(maxsize=_SHARED_MAX)
def _shared_rrule(text: str, timezone: str, start: int) -> Rule:
    return read_recurrence(text, find_zone(timezone), start)
