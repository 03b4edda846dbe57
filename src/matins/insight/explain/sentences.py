"""One plain-English sentence for a schedule: what its owner sees before trusting it."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from matins.domain.schedules.after_end import AfterEnd
from matins.domain.schedules.after_jobs import AfterJobs, Chained, When
from matins.domain.schedules.at import At
from matins.domain.schedules.cron.clock_changes import ClockChanges
from matins.domain.schedules.cron.kind import Cron
from matins.domain.schedules.every import Every, Interval
from matins.domain.schedules.members import Member
from matins.domain.schedules.parsed import ParsedSchedule
from matins.domain.schedules.parsing import parse_schedule
from matins.domain.schedules.rrule.kind import RRule
from matins.domain.schedules.schedule import OnClosed, Schedule
from matins.domain.time.instants import epoch_s, instant_of
from matins.domain.time.zones import Zone
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
_WHEN: Final[dict[When, str]] = {
    "all_success": "when all succeeded",
    "any_success": "when any succeeded",
    "all_done": "when all have ended",
    "any_failure": "when any failed",
}
_WHEN_ONE: Final[dict[When, str]] = {
    "all_success": "when it succeeded",
    "any_success": "when it succeeded",
    "all_done": "when it has ended",
    "any_failure": "when it failed",
}
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
    parsed = parse_schedule(schedule)
    start = parsed.start(epoch_s(anchor))
    kinds = [_describe_member(member, seed, start) for member in parsed.members]
    if isinstance(parsed.kind, AfterEnd):
        kinds = [f"{_describe_span(parsed.kind.interval)} after the last run has ended"]
    if isinstance(parsed.kind, Chained):
        kinds = [_describe_chain(parsed.kind.after)]
    text = "; ".join(
        ["; or ".join(kinds), *_describe_limits(parsed), *_describe_rest(schedule, parsed)]
    )
    return f"{text[:1].upper()}{text[1:]}."


def _describe_chain(after: AfterJobs) -> str:
    """Describe after which jobs it comes, by which of their ends."""
    if len(after.jobs) == 1:
        return f"after {after.jobs[0]}, {_WHEN_ONE[after.when]}"
    leader = f"with each run of {after.jobs[0]}" if after.join == "latest" else ""
    others = f" and the newest of {listed(after.jobs[1:])}" if leader else ""
    jobs = f"{leader}{others}" if leader else f"after {listed(after.jobs)}"
    return f"{jobs}, {_WHEN[after.when]}"


def _describe_member(member: Member, seed: str, anchor: int) -> str:
    """Describe when one kind of due times comes, in which zone."""
    match member:
        case Cron(expression, dialect, zone, dst):
            text = f"{describe_cron(expression, dialect, seed)}, {zone_words(zone.name)}"
            return text if dst is None else f"{text} ({_describe_clock_changes(dst)})"
        case RRule(text, zone):
            return describe_rrule(text, zone.name, anchor)
        case Every(interval, _, zone):
            return _describe_interval(interval, member.start(anchor), zone)
        case At(_, instants, zone):
            return describe_instants(instants, zone)


def _describe_interval(interval: Interval, start: int, zone: Zone) -> str:
    anchor = f"{instant_of(start):%Y-%m-%d %H:%M:%S} UTC"
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


def _describe_limits(parsed: ParsedSchedule) -> list[str]:
    """Describe from when to when, and how often at most."""
    phrases = []
    for word, instant in (("from", parsed.starts), ("until", parsed.ends)):
        if instant is not None:
            phrases.append(f"{word} {moment(wall_at(instant, parsed.zone))}")
    if parsed.max_runs is not None:
        phrases.append(f"at most {counted(parsed.max_runs, 'time')}")
    return [", ".join(phrases)] if phrases else []


def _describe_rest(schedule: Schedule, parsed: ParsedSchedule) -> list[str]:
    """Describe how runs are spread, what calendars do to them, and when the job is deleted."""
    phrases = []
    if parsed.jitter.longest_s:
        per = "for the job" if parsed.jitter.by_job else "for each run"
        delay = length(parsed.jitter.longest_s)
        phrases.append(f"up to {delay} later, by a stable choice {per}")
    if schedule.calendars:
        names = listed(schedule.calendars, "or")
        phrases.append(f"except when calendar {names} is closed{_CLOSED[schedule.on_closed]}")
    if parsed.delete_after_s is not None:
        span = length(parsed.delete_after_s)
        phrases.append(f"the job is deleted {span} after its last run has ended")
    return phrases
