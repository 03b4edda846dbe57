"""Judges property cases: what must hold for every seed, since the hash itself is free."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import msgspec

from matins.domain.schedules.schedule import Schedule
from matins.domain.timetables.compiling import compile_schedule
from matins.domain.timetables.timetable import Timetable

_SEEDS = 25
_FIRES_MAX = 2_000


class Distinct(msgspec.Struct, forbid_unknown_fields=True):
    """So many different values over so many seeds."""

    seeds: int
    at_least: int


class Properties(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What a case states; an unknown property makes the case unreadable, not right."""

    period_s: int | None = None
    min_gap_s: int | None = None
    fires_per_hour: int | None = None
    fires_per_hour_in: list[int] | None = None
    fires_per_day: int | None = None
    fires_per_week: int | None = None
    fires_per_month: int | None = None
    fires_per_year: int | None = None
    minute_in: tuple[int, int] | None = None
    hour_in: tuple[int, int] | None = None
    dom_in: tuple[int, int] | None = None
    dow_in: tuple[int, int] | None = None
    offset_minute_in: tuple[int, int] | None = None
    distinct_minutes_min: Distinct | None = None
    distinct_times_min: Distinct | None = None
    distinct_dows_min: Distinct | None = None
    stable: bool = False
    valid_for_all_seeds: bool = False
    jitter_s: int | None = None
    offset_in_s: tuple[int, int] | None = None
    one_fire_per_slot: bool = False
    never_before_from: bool = False
    strictly_increasing: bool = False
    elapsed: bool = False


def broken_properties(props: Properties, schedule: Schedule, start: datetime) -> str | None:
    """Judge a property case; None when every property holds for every seed."""
    jitter = f"{props.jitter_s or 0}s"
    schedule = msgspec.structs.replace(schedule, jitter=jitter)
    broken: list[str] = []
    for seed in (f"job-{number}" for number in range(_SEEDS)):
        timetable = compile_schedule(schedule, seed=seed, anchor=start)
        again = compile_schedule(schedule, seed=seed, anchor=start)
        dues = _dues(timetable, props, start)
        if dues != _dues(again, props, start):
            broken.append("stable")
        broken += _broken_counts(props, dues)
        zone = ZoneInfo(schedule.timezone)
        broken += _broken_values(props, [due.astimezone(zone) for due in dues])
        broken += _broken_jitter(props, timetable, dues)
    broken += _broken_spread(props, schedule, start)
    return f"broken: {', '.join(sorted(set(broken)))}" if broken else None


def _dues(timetable: Timetable, props: Properties, start: datetime) -> list[datetime]:
    """Return all due times of a window that is long enough for the properties."""
    days = 10 if props.fires_per_day or props.hour_in else 2
    days = 120 if props.fires_per_month or props.fires_per_week or props.dom_in else days
    days = 3 * 366 if props.fires_per_year else days
    first = start - timedelta(seconds=1)
    return timetable.due_between(first, start + timedelta(days=days), _FIRES_MAX)


def _broken_counts(props: Properties, dues: list[datetime]) -> Iterable[str]:
    gaps = {(later - earlier).total_seconds() for earlier, later in pairwise(dues)}
    if props.period_s and gaps != {props.period_s}:
        yield "period_s"
    if props.min_gap_s and min(gaps) < props.min_gap_s:
        yield "min_gap_s"
    units: list[tuple[str, Iterable[int], Callable[[datetime], str]]] = [
        ("hour", [props.fires_per_hour or 0], lambda due: f"{due:%Y-%m-%d %H}"),
        ("hour", props.fires_per_hour_in or [0], lambda due: f"{due:%Y-%m-%d %H}"),
        ("day", [props.fires_per_day or 0], lambda due: f"{due:%Y-%m-%d}"),
        ("week", [props.fires_per_week or 0], lambda due: f"{due:%G-%V}"),
        ("month", [props.fires_per_month or 0], lambda due: f"{due:%Y-%m}"),
        ("year", [props.fires_per_year or 0], lambda due: f"{due:%Y}"),
    ]
    for name, allowed, unit in units:
        counts = list(Counter(map(unit, dues)).values())[:-1]  # the window may cut the last one
        if set(allowed) != {0} and not set(counts) <= set(allowed):
            yield f"fires_per_{name}"


def _broken_values(props: Properties, walls: list[datetime]) -> Iterable[str]:
    stated = {
        "minute_in": (props.minute_in, [wall.minute for wall in walls]),
        "hour_in": (props.hour_in, [wall.hour for wall in walls]),
        "dom_in": (props.dom_in, [wall.day for wall in walls]),
        "dow_in": (props.dow_in, [wall.isoweekday() % 7 for wall in walls]),
        "offset_minute_in": (props.offset_minute_in, [walls[0].minute]),
    }
    for name, (ends, values) in stated.items():
        if ends and not (ends[0] <= min(values) and max(values) <= ends[1]):
            yield name


def _broken_jitter(props: Properties, timetable: Timetable, dues: list[datetime]) -> Iterable[str]:
    fires = [timetable.fire_time(due) for due in dues]
    if sorted(set(fires)) != fires:
        yield "one_fire_per_slot"
    slots = zip(dues, fires, dues[1:], strict=False)
    if not all(due <= fire < following for due, fire, following in slots):
        yield "never_before_from"
    low, high = props.offset_in_s or (0, 0)
    offsets = [(fire - due).total_seconds() for due, fire in zip(dues, fires, strict=True)]
    if not all(low <= offset <= high for offset in offsets):
        yield "offset_in_s"


def _broken_spread(props: Properties, schedule: Schedule, start: datetime) -> Iterable[str]:
    for name, stated, form in (
        ("distinct_minutes_min", props.distinct_minutes_min, "%M"),
        ("distinct_times_min", props.distinct_times_min, "%H:%M"),
        ("distinct_dows_min", props.distinct_dows_min, "%w"),
    ):
        if stated:
            seeds = (f"seed-{number}" for number in range(stated.seeds))
            tables = (compile_schedule(schedule, seed=seed, anchor=start) for seed in seeds)
            values = {f"{table.next_after(start):{form}}" for table in tables}
            if len(values) < stated.at_least:
                yield name
