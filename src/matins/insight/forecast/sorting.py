"""Tells which load a job belongs to; a schedule that many jobs share is looked at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final
from uuid import UUID

import msgspec
from msgspec.structs import replace

from matins.domain.calendars.closures import Closures
from matins.domain.schedules.checking import whole_seconds
from matins.domain.schedules.cron.clock_changes import cron_rule
from matins.domain.schedules.cron.expression import is_hashed, parse_cron
from matins.domain.schedules.every import parse_interval
from matins.domain.schedules.schedule import Schedule, Times
from matins.domain.time.civil import DAY_S, FIRST_S, LAST_S
from matins.domain.time.instants import epoch_s, parse_instant
from matins.domain.time.zones import find_zone
from matins.domain.timetables.compiling import Timing
from matins.insight.forecast.dials import dial
from matins.insight.forecast.hashes import draw, draws
from matins.insight.forecast.loads import (
    AtLoad,
    CronLoad,
    EveryLoad,
    FlatLoad,
    Load,
    WalkedLoad,
)

KNOWN_MAX: Final = 65_536
"""How many schedules are remembered with their loads."""


class Booking(msgspec.Struct, frozen=True):
    """What of a job decides about its load."""

    id: UUID
    team: str
    pool: str
    schedule: Schedule
    timing: Timing


Place = tuple[Load, int]
"""A job's load and its anchor, which is 0 where the load has no phases."""

Sort = Callable[[Booking], Place]


class Sorter:
    """Sorts jobs by load. Jobs of one load get the same object, or equal ones."""

    def __init__(self) -> None:
        self._sort_of = lru_cache(maxsize=KNOWN_MAX)(_sort_of)

    def sort(self, job: Booking) -> Place:
        """Give a job's load and anchor. Raises ScheduleError if the schedule can't be compiled."""
        if job.timing.overrides:
            return _walked(job)
        return self._sort_of(msgspec.json.encode(job.schedule))(job)


def _sort_of(text: bytes) -> Sort:
    """Choose how the jobs with one schedule are sorted. It comes as JSON, which can be a key."""
    schedule = msgspec.json.decode(text, type=Schedule)
    if schedule.follows_end and schedule.every is not None:
        return _following(schedule, schedule.every)
    if schedule.max_runs is None and not schedule.calendars:
        if schedule.cron is not None:
            return _cron(schedule, schedule.cron)
        if schedule.every is not None:
            return _every(schedule, schedule.every)
        if isinstance(schedule.at, str) and schedule.starts_at is schedule.ends_at is None:
            at = parse_instant(schedule.at, find_zone(schedule.timezone))
            place = AtLoad(whole_seconds(schedule.jitter)), at
            return lambda _job: place
    return _walked if _is_own(schedule) else _alike()


def _cron(schedule: Schedule, expression: str) -> Sort:
    zone, dialect = find_zone(schedule.timezone), schedule.dialect
    first, last = _limits(schedule)
    jitter_s = whole_seconds(schedule.jitter)

    def load(seed: str) -> Load:
        pattern = parse_cron(expression, dialect, seed)
        rule = cron_rule(pattern, zone, schedule.dst)
        return CronLoad(rule, pattern.days, dial(pattern), zone, jitter_s, first, last)

    if not is_hashed(expression, dialect):
        place: Place = load(""), 0
        return lambda _job: place
    wanted = draws(expression, dialect)
    if wanted is None:
        return lambda job: (load(str(job.id)), 0)
    known = dict[tuple[int, ...], Place]()

    def sort(job: Booking) -> Place:
        seed = str(job.id)
        drawn = draw(wanted, seed)
        place = known.get(drawn)
        if place is None:
            place = known[drawn] = load(seed), 0
        return place

    return sort


def _every(schedule: Schedule, every: str) -> Sort:
    interval, zone = parse_interval(every), find_zone(schedule.timezone)
    step_s = interval.days * DAY_S + interval.seconds
    first, last = _limits(schedule)
    if interval.days and interval.seconds:  # drifts over the day, and jumps when clocks change
        return _walked if _is_own(schedule) else _alike()
    by_day = zone if interval.days else None
    load = EveryLoad(step_s, by_day, whole_seconds(schedule.jitter), first, last)
    if schedule.anchor is not None:
        place = load, parse_instant(schedule.anchor, zone)
        return lambda _job: place
    if schedule.starts_at is not None:
        return lambda _job: (load, first)
    return lambda job: (load, epoch_s(job.timing.anchor))


def _following(schedule: Schedule, every: str) -> Sort:
    """Sort jobs that are due a while after the end of each run: about once in each such while."""
    interval = parse_interval(every)
    step_s = interval.days * DAY_S + interval.seconds
    place: Place = FlatLoad(step_s, *_limits(schedule)), 0
    return lambda _job: place


def _limits(schedule: Schedule) -> tuple[int, int]:
    """Give the first and the last instant at which a schedule may be due."""
    zone, starts, ends = find_zone(schedule.timezone), schedule.starts_at, schedule.ends_at
    return (
        FIRST_S if starts is None else parse_instant(starts, zone),
        LAST_S if ends is None else parse_instant(ends, zone),
    )


def _is_own(schedule: Schedule) -> bool:
    """Tell whether jobs with one schedule and the same calendars may be due at different times."""
    if schedule.max_runs is not None:
        return True
    kinds = schedule.kinds()
    if any(it.cron is not None and is_hashed(it.cron, it.dialect) for it in kinds):
        return True
    return schedule.starts_at is None and any(map(_needs_anchor, kinds))


def _needs_anchor(times: Times) -> bool:
    if times.rrule is not None:
        return "DTSTART" not in times.rrule.upper()
    return times.every is not None and times.anchor is None


def _alike() -> Sort:
    """Sort jobs that are due at the same times if they have the same calendars: each time once."""
    known: dict[tuple[Closures, ...], Place] = {}

    def sort(job: Booking) -> Place:
        closures = job.timing.closures
        place = known.get(closures)
        if place is None:
            place = known[closures] = _walked(job)
        return place

    return sort


def _walked(job: Booking) -> Place:
    jitter_s = whole_seconds(job.schedule.jitter)
    # Without its jitter a timetable is the same for all jobs that have it.
    plain = replace(job.schedule, jitter="0s")
    return WalkedLoad(job.timing.compile(plain, job.id), jitter_s), 0
