"""A schedule as its owner writes it, checked and compiled to a timetable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import lru_cache, partial
from typing import Final

import msgspec

from matins.domain.durations import parse_duration
from matins.domain.errors import Problem, ScheduleError
from matins.domain.schedules.cron import Dialect, is_hashed, parse_cron
from matins.domain.schedules.instants import InstantsRule, epoch_s, parse_instant
from matins.domain.schedules.intervals import IntervalRule, parse_interval
from matins.domain.schedules.rules import FixedRule, Rule, WildcardRule
from matins.domain.schedules.timetable import Timetable
from matins.domain.schedules.zones import find_zone, zone_names

INSTANTS_MAX: Final = 1_000
_SHARED_MAX: Final = 16_384


class Schedule(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """When a job is due: exactly one of `cron`, `every` and `at`, in an IANA time zone.

    `anchor` is for `every`, `dialect` for `cron`. Instants without an offset are local times.
    """

    cron: str | None = None
    every: str | None = None
    at: str | list[str] | None = None
    anchor: str | None = None
    timezone: str = "UTC"
    jitter: str = "0s"
    dialect: Dialect = "unix"


def compile_schedule(schedule: Schedule, *, seed: str, anchor: datetime) -> Timetable:
    """Compile a schedule for the job whose id is `seed`.

    `anchor` (the job's creation) counts for `every` when the schedule has none of its own.
    Raises ScheduleError with all that `problems` finds.
    """
    try:
        rule = _rule(schedule, seed, anchor)
        jitter_s = 0 if schedule.jitter == "0s" else _read_jitter(schedule.jitter)
    except ScheduleError as error:
        # Nothing is found when it is only this seed whose `H` chose a date that never comes.
        found = problems(schedule) or [Problem("cron", str(error))]
        raise ScheduleError("; ".join(f"{p.where}: {p.message}" for p in found)) from error
    return Timetable(rule, seed, jitter_s)


def problems(schedule: Schedule) -> list[Problem]:
    """Give all that is wrong with a schedule, by field; empty when it can be compiled."""
    found: list[Problem] = []
    for where, check in _checks(schedule):
        try:
            check()
        except ScheduleError as error:
            found.append(Problem(where, str(error)))
    return found


def _checks(schedule: Schedule) -> Iterator[tuple[str, Callable[[], object]]]:
    """Give the checks of each field that is set; each raises ScheduleError or does nothing."""
    cron, every, at = schedule.cron, schedule.every, schedule.at
    zone = find_zone(schedule.timezone if schedule.timezone in zone_names() else "UTC")
    yield "timezone", lambda: find_zone(schedule.timezone)
    yield "cron" if cron is not None else "every", lambda: _check_kind(schedule)
    if cron is not None:
        yield "cron", lambda: parse_cron(cron, schedule.dialect, "")
    if every is not None:
        yield "every", lambda: parse_interval(every)
    if isinstance(at, str):
        yield "at", lambda: parse_instant(at, zone)
    elif at is not None:
        yield "at", lambda: _check_count(at)
        for index, text in enumerate(at[:INSTANTS_MAX]):
            yield f"at[{index}]", partial(parse_instant, text, zone)
    anchor = schedule.anchor
    if anchor is not None:
        yield "anchor", lambda: parse_instant(anchor, zone)
    yield "jitter", lambda: _read_jitter(schedule.jitter)


def _rule(schedule: Schedule, seed: str, anchor: datetime) -> Rule:
    _check_kind(schedule)
    if schedule.cron is not None:
        shared = _shared_cron(schedule.cron, schedule.dialect, schedule.timezone)
        return shared or _cron(schedule.cron, schedule.dialect, schedule.timezone, seed)
    zone = find_zone(schedule.timezone)
    if schedule.every is not None:
        own = schedule.anchor
        start = epoch_s(anchor) if own is None else parse_instant(own, zone)
        return IntervalRule(parse_interval(schedule.every), start, zone)
    at = [schedule.at] if isinstance(schedule.at, str) else schedule.at or []
    _check_count(at)
    return InstantsRule([parse_instant(text, zone) for text in at])


@lru_cache(maxsize=_SHARED_MAX)
def _shared_cron(expression: str, dialect: Dialect, timezone: str) -> Rule | None:
    """Compile what is the same for every job; None when `H` makes it differ."""
    if is_hashed(expression, dialect):
        return None
    return _cron(expression, dialect, timezone, "")


def _cron(expression: str, dialect: Dialect, timezone: str, seed: str) -> Rule:
    zone = find_zone(timezone)
    pattern = parse_cron(expression, dialect, seed)
    return FixedRule(pattern, zone) if pattern.is_fixed else WildcardRule(pattern, zone)


def _check_kind(schedule: Schedule) -> None:
    kinds = (schedule.cron, schedule.every, schedule.at)
    if kinds.count(None) != 2:
        raise ScheduleError("a schedule takes exactly one of cron, every and at")
    if schedule.anchor is not None and schedule.every is None:
        raise ScheduleError("the schedule has an anchor, which goes with every only; leave it out")


def _check_count(at: list[str]) -> None:
    if not 0 < len(at) <= INSTANTS_MAX:
        raise ScheduleError(f"the list has {len(at)} instants; write 1 to {INSTANTS_MAX}")


@lru_cache(maxsize=_SHARED_MAX)
def _read_jitter(text: str) -> int:
    length = parse_duration(text)
    if length != int(length):
        raise ScheduleError(f"{text[:40]!r} has a fraction of a second; write whole seconds")
    return int(length)
