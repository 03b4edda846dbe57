"""One plain-English sentence for a schedule: what its owner sees before trusting it."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from matins.domain.schedules.cron.clock_changes import ClockChanges
from matins.domain.schedules.every import Interval, parse_interval
from matins.domain.schedules.schedule import OnClosed, Schedule, Times
from matins.domain.time.instants import epoch_s, instant_of, parse_instant
from matins.domain.time.zones import Zone, find_zone
from matins.domain.values.durations import parse_whole_seconds
from matins.insight.explain.cron_words import describe_cron
from matins.insight.explain.english import (
    counted,
    describe_instants,
    each,
    length,
    listed,
    moment,
    wall_at,
    zone_words,
)
from matins.insight.explain.rrule_words import describe_rrule

_GAPS: Final = {"run_after": "is due right after the gap", "skip": "is left out"}
_OVERLAPS: Final = {"first": "the first time", "second": "the second time", "both": "both times"}
_CLOSED: Final[dict[OnClosed, str]] = {
    "skip": "",
    "next_business_day": ", then on the next business day",
    "previous_business_day": ", then on the business day before",
}


def explain(schedule: Schedule, *, seed: str, anchor: datetime) -> str:
    """Return one sentence in English that says when a schedule is due.

    `seed` is the job's id, by which `H` chooses; empty when there is none yet. `anchor` is the
    job's creation, from which `every` counts if nothing else is given. Raises ScheduleError for a
    schedule that can't be compiled.
    """
    zone = find_zone(schedule.timezone)
    start = epoch_s(anchor)
    if schedule.starts_at is not None:
        start = parse_instant(schedule.starts_at, zone)
    kinds = [
        _describe_times(times, times.timezone or schedule.timezone, seed, start)
        for times in schedule.kinds()
    ]
    if schedule.follows_end and schedule.every is not None:
        kinds = [f"{_describe_span(parse_interval(schedule.every))} after the last run has ended"]
    text = "; ".join(
        ["; or ".join(kinds), *_describe_limits(schedule, zone), *_describe_rest(schedule)]
    )
    return f"{text[:1].upper()}{text[1:]}."


def _describe_times(times: Times, timezone: str, seed: str, anchor: int) -> str:
    """Describe when one kind of due times comes, in which zone."""
    zone = find_zone(timezone)
    if times.cron is not None:
        text = f"{describe_cron(times.cron, times.dialect, seed)}, {zone_words(timezone)}"
        return text if times.dst is None else f"{text} ({_describe_clock_changes(times.dst)})"
    if times.rrule is not None:
        return describe_rrule(times.rrule, timezone, anchor)
    if times.every is not None:
        start = anchor if times.anchor is None else parse_instant(times.anchor, zone)
        return _describe_interval(times.every, start, zone)
    return describe_instants((parse_instant(text, zone) for text in times.instants), zone)


def _describe_interval(every: str, start: int, zone: Zone) -> str:
    anchor = f"{instant_of(start):%Y-%m-%d %H:%M:%S} UTC"
    interval = parse_interval(every)
    if interval.days:
        anchor = f"{moment(wall_at(start, zone))}, {zone_words(zone.name)}"
    return f"{each(_describe_span(interval))}, counted from {anchor}"


def _describe_span(interval: Interval) -> str:
    """Describe the length of an interval; 24 hours are not a day, which may have 23 or 25."""
    if not interval.days:
        return length(interval.seconds, real_time=True)
    days = counted(interval.days, "day")
    return f"{days} and {length(interval.seconds)}" if interval.seconds else days


def _describe_clock_changes(dst: ClockChanges) -> str:
    phrases = []
    if dst.gap is not None:
        phrases.append(f"a time that clocks skip {_GAPS[dst.gap]}")
    if dst.overlap is not None:
        phrases.append(f"a time that occurs twice is due {_OVERLAPS[dst.overlap]}")
    return listed(phrases)


def _describe_limits(schedule: Schedule, zone: Zone) -> list[str]:
    """Describe from when to when, and how often at most."""
    phrases = []
    for word, text in (("from", schedule.starts_at), ("until", schedule.ends_at)):
        if text is not None:
            at = parse_instant(text, zone)
            phrases.append(f"{word} {moment(wall_at(at, zone))}")
    if schedule.max_runs is not None:
        phrases.append(f"at most {counted(schedule.max_runs, 'time')}")
    return [", ".join(phrases)] if phrases else []


def _describe_rest(schedule: Schedule) -> list[str]:
    """Describe how runs are spread, what calendars do to them, and when the job is deleted."""
    phrases = []
    jitter = parse_whole_seconds(schedule.jitter)
    if jitter:
        per = "for each run" if schedule.spread == "run" else "for the job"
        phrases.append(f"up to {length(jitter)} later, by a stable choice {per}")
    if schedule.calendars:
        names = listed(schedule.calendars, "or")
        phrases.append(f"except when calendar {names} is closed{_CLOSED[schedule.on_closed]}")
    if schedule.delete_after is not None:
        span = length(parse_whole_seconds(schedule.delete_after))
        phrases.append(f"the job is deleted {span} after its last run has ended")
    return phrases
