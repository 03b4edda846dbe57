"""Finds the group of a job; a schedule that many jobs share is examined once."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final
from uuid import UUID

import msgspec
from msgspec.structs import replace

from matins.domain.calendars.closures import Closures
from matins.domain.schedules.cron.clock_changes import cron_rule
from matins.domain.schedules.cron.expression import Dialect, is_hashed, parse_cron
from matins.domain.schedules.cron.fields import QUARTZ_FIELDS, UNIX_FIELDS, YEAR, Field
from matins.domain.schedules.every import parse_interval
from matins.domain.schedules.schedule import Schedule, Times
from matins.domain.time.civil import DAY_S, FIRST_S, LAST_S
from matins.domain.time.instants import epoch_s, parse_instant
from matins.domain.time.zones import find_zone
from matins.domain.timetables.compiling import Timing
from matins.domain.values.durations import parse_whole_seconds
from matins.domain.values.hashing import stable_number
from matins.insight.forecast.groups import (
    AtGroup,
    CronGroup,
    EveryGroup,
    Group,
    RateGroup,
    TimetableGroup,
    day_shape,
)

SCHEDULES_MAX: Final = 65_536
"""How many schedules are remembered with their groups."""

_HASH: Final = re.compile(r"H(?:\((\d{1,4})-(\d{1,4})\))?(?:/(\d{1,4}))?", re.ASCII)


class Entry(msgspec.Struct, frozen=True):
    """What decides when a job fires, and for whom."""

    id: UUID
    team: str
    pool: str
    schedule: Schedule
    timing: Timing


Grouped = tuple[Group, int]
"""A job's group and its anchor, which is 0 where the group has no phases."""

GroupOf = Callable[[Entry], Grouped]


class Grouper:
    """Groups jobs. Jobs of one group get the same object, or equal ones."""

    def __init__(self) -> None:
        self._group_of = lru_cache(maxsize=SCHEDULES_MAX)(_group_of)

    def group(self, entry: Entry) -> Grouped:
        """Return a job's group and anchor. Raises ScheduleError if its schedule is wrong."""
        if entry.timing.overrides:
            return _by_timetable(entry)
        return self._group_of(msgspec.json.encode(entry.schedule))(entry)


def _group_of(text: bytes) -> GroupOf:
    """Choose how jobs with one schedule are grouped. The schedule is JSON, which can be a key."""
    schedule = msgspec.json.decode(text, type=Schedule)
    if schedule.follows_end and schedule.every is not None:
        return _after_end(schedule, schedule.every)
    if schedule.max_runs is None and not schedule.calendars:
        if schedule.cron is not None:
            return _cron(schedule, schedule.cron)
        if schedule.every is not None:
            return _every(schedule, schedule.every)
        if isinstance(schedule.at, str) and schedule.starts_at is schedule.ends_at is None:
            at = parse_instant(schedule.at, find_zone(schedule.timezone))
            grouped = AtGroup(parse_whole_seconds(schedule.jitter)), at
            return lambda _entry: grouped
    return _enumerated(schedule)


def _cron(schedule: Schedule, expression: str) -> GroupOf:
    zone, dialect = find_zone(schedule.timezone), schedule.dialect
    first, last = _limits(schedule)
    jitter_s = parse_whole_seconds(schedule.jitter)

    def group(seed: str) -> Group:
        pattern = parse_cron(expression, dialect, seed)
        rule = cron_rule(pattern, zone, schedule.dst)
        return CronGroup(rule, pattern.days, day_shape(pattern), zone, jitter_s, first, last)

    if not is_hashed(expression, dialect):
        grouped: Grouped = group(""), 0
        return lambda _entry: grouped
    hashes = _hashes(expression, dialect)
    if hashes is None:
        return lambda entry: (group(str(entry.id)), 0)
    by_values = dict[tuple[int, ...], Grouped]()

    def by_hash(entry: Entry) -> Grouped:
        seed = str(entry.id)
        values = tuple([stable_number(size, seed, name) for size, name in hashes])
        grouped = by_values.get(values)
        if grouped is None:
            grouped = by_values[values] = group(seed), 0
        return grouped

    return by_hash


def _hashes(expression: str, dialect: Dialect) -> list[tuple[int, str]] | None:
    """Return the hash values that an expression's `H` take from a job's id: jobs with the same
    values are due at the same times.

    Each is a size and the name of a field, as `stable_number` takes them; None where they can't be
    told. The expression is one that `parse_cron` takes.
    """
    texts = expression.upper().split()
    if texts[0].startswith("@"):
        return None
    fields = [*(QUARTZ_FIELDS if dialect == "quartz" else UNIX_FIELDS), YEAR]
    hashes = dict[tuple[int, str], None]()
    for field, text in zip(fields[len(texts) == 5 :], texts, strict=False):
        for item in text.split(","):
            if item.startswith("H"):
                match = _HASH.fullmatch(item)
                if match is None:
                    return None
                hashes[_hash_size(field, match), field.name] = None
    return list(hashes)


def _hash_size(field: Field, match: re.Match[str]) -> int:
    low, high, step = match.groups()
    count = field.hash_high - field.low + 1 if low is None else int(high) - int(low) + 1
    return count if step is None else min(int(step), count)


def _every(schedule: Schedule, every: str) -> GroupOf:
    interval, zone = parse_interval(every), find_zone(schedule.timezone)
    if interval.days and interval.seconds:  # drifts over the day, and jumps when clocks change
        return _enumerated(schedule)
    first, last = _limits(schedule)
    group = EveryGroup(
        interval.days * DAY_S + interval.seconds,
        zone if interval.days else None,
        parse_whole_seconds(schedule.jitter),
        first,
        last,
    )
    if schedule.anchor is not None:
        grouped = group, parse_instant(schedule.anchor, zone)
        return lambda _entry: grouped
    if schedule.starts_at is not None:
        return lambda _entry: (group, first)
    return lambda entry: (group, epoch_s(entry.timing.anchor))


def _after_end(schedule: Schedule, every: str) -> GroupOf:
    """Group jobs that are due a while after the end of each run: about once in each such while."""
    interval = parse_interval(every)
    step_s = interval.days * DAY_S + interval.seconds
    grouped: Grouped = RateGroup(step_s, *_limits(schedule)), 0
    return lambda _entry: grouped


def _limits(schedule: Schedule) -> tuple[int, int]:
    """Return the first and the last instant at which a schedule may be due."""
    zone, starts, ends = find_zone(schedule.timezone), schedule.starts_at, schedule.ends_at
    return (
        FIRST_S if starts is None else parse_instant(starts, zone),
        LAST_S if ends is None else parse_instant(ends, zone),
    )


def _enumerated(schedule: Schedule) -> GroupOf:
    """Group what has to be enumerated: job by job, or all jobs with the same calendars at once."""
    if _differs_by_job(schedule):
        return _by_timetable
    by_closures: dict[tuple[Closures, ...], Grouped] = {}

    def group(entry: Entry) -> Grouped:
        closures = entry.timing.closures
        grouped = by_closures.get(closures)
        if grouped is None:
            grouped = by_closures[closures] = _by_timetable(entry)
        return grouped

    return group


def _differs_by_job(schedule: Schedule) -> bool:
    """Return whether jobs with one schedule and the same calendars may differ in due times."""
    if schedule.max_runs is not None:
        return True
    kinds = schedule.kinds()
    if any(times.cron is not None and is_hashed(times.cron, times.dialect) for times in kinds):
        return True
    return schedule.starts_at is None and any(map(_needs_anchor, kinds))


def _needs_anchor(times: Times) -> bool:
    if times.rrule is not None:
        return "DTSTART" not in times.rrule.upper()
    return times.every is not None and times.anchor is None


def _by_timetable(entry: Entry) -> Grouped:
    jitter_s = parse_whole_seconds(entry.schedule.jitter)
    # Without its jitter a timetable is the same for all jobs that have it.
    plain = replace(entry.schedule, jitter="0s")
    return TimetableGroup(entry.timing.compile(plain, entry.id), jitter_s), 0
