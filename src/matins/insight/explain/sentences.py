"""One plain-English sentence for a schedule: what its owner sees before trusting it."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from matins.domain.schedules.checking import whole_seconds
from matins.domain.schedules.clock_changes import ClockChanges
from matins.domain.schedules.instants import epoch_s, instant_of, parse_instant
from matins.domain.schedules.intervals import Interval, parse_interval
from matins.domain.schedules.schedule import OnClosed, Schedule, Times
from matins.domain.schedules.zones import Zone, find_zone
from matins.insight.explain.cron_words import say_cron
from matins.insight.explain.english import counted, each, length, listed, moment, wall_at
from matins.insight.explain.instant_words import say_instants, zone_words
from matins.insight.explain.rule_words import say_rrule

_GAPS: Final = {"run_after": "is due right after the gap", "skip": "is left out"}
_OVERLAPS: Final = {"first": "the first time", "second": "the second time", "both": "both times"}
_CLOSED: Final[dict[OnClosed, str]] = {
    "skip": "",
    "next_business_day": ", then on the next business day",
    "previous_business_day": ", then on the business day before",
}


def explain(schedule: Schedule, *, seed: str, anchor: datetime) -> str:
    """Give one sentence in English that says when a schedule is due.

    `seed` is the job's id, by which `H` chooses; empty when there is none yet. `anchor` is the
    job's creation, from which `every` counts if nothing else is given. Raises ScheduleError for a
    schedule that can't be compiled.
    """
    zone = find_zone(schedule.timezone)
    start = epoch_s(anchor)
    if schedule.starts_at is not None:
        start = parse_instant(schedule.starts_at, zone)
    kinds = [
        _say_times(times, times.timezone or schedule.timezone, seed, start)
        for times in schedule.kinds()
    ]
    if schedule.follows_end and schedule.every is not None:
        kinds = [f"{_say_span(parse_interval(schedule.every))} after the last run has ended"]
    said = "; ".join(["; or ".join(kinds), *_say_limits(schedule, zone), *_say_rest(schedule)])
    return f"{said[:1].upper()}{said[1:]}."


def _say_times(times: Times, timezone: str, seed: str, anchor: int) -> str:
    """Say when one kind of due times comes, in which zone."""
    zone = find_zone(timezone)
    if times.cron is not None:
        said = f"{say_cron(times.cron, times.dialect, seed)}, {zone_words(timezone)}"
        return said if times.dst is None else f"{said} ({_say_clock_changes(times.dst)})"
    if times.rrule is not None:
        return say_rrule(times.rrule, timezone, anchor)
    if times.every is not None:
        start = anchor if times.anchor is None else parse_instant(times.anchor, zone)
        return _say_interval(times.every, start, zone)
    return say_instants((parse_instant(text, zone) for text in times.instants), zone)


def _say_interval(every: str, start: int, zone: Zone) -> str:
    anchor = f"{instant_of(start):%Y-%m-%d %H:%M:%S} UTC"
    interval = parse_interval(every)
    if interval.days:
        anchor = f"{moment(wall_at(start, zone))}, {zone_words(zone.name)}"
    return f"{each(_say_span(interval))}, counted from {anchor}"


def _say_span(interval: Interval) -> str:
    """Say how long an interval is; 24 hours are not a day, which may have 23 or 25."""
    if not interval.days:
        return length(interval.seconds, real_time=True)
    days = counted(interval.days, "day")
    return f"{days} and {length(interval.seconds)}" if interval.seconds else days


def _say_clock_changes(dst: ClockChanges) -> str:
    said = []
    if dst.gap is not None:
        said.append(f"a time that clocks skip {_GAPS[dst.gap]}")
    if dst.overlap is not None:
        said.append(f"a time that occurs twice is due {_OVERLAPS[dst.overlap]}")
    return listed(said)


def _say_limits(schedule: Schedule, zone: Zone) -> list[str]:
    """Say from when to when, and how often at most."""
    said = []
    for word, text in (("from", schedule.starts_at), ("until", schedule.ends_at)):
        if text is not None:
            at = parse_instant(text, zone)
            said.append(f"{word} {moment(wall_at(at, zone))}")
    if schedule.max_runs is not None:
        said.append(f"at most {counted(schedule.max_runs, 'time')}")
    return [", ".join(said)] if said else []


def _say_rest(schedule: Schedule) -> list[str]:
    """Say how runs are spread, what calendars do to them, and when the job is deleted."""
    said = []
    jitter = whole_seconds(schedule.jitter)
    if jitter:
        per = "for each run" if schedule.spread == "run" else "for the job"
        said.append(f"up to {length(jitter)} later, by a stable choice {per}")
    if schedule.calendars:
        names = listed(schedule.calendars, "or")
        said.append(f"except when calendar {names} is closed{_CLOSED[schedule.on_closed]}")
    if schedule.delete_after is not None:
        span = length(whole_seconds(schedule.delete_after))
        said.append(f"the job is deleted {span} after its last run has ended")
    return said
