"""Parses a schedule as written: to what it means, or to all that is wrong with it, by field."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from matins.domain.schedules.after_end import AfterEnd
from matins.domain.schedules.after_jobs import AfterJobs, Chained
from matins.domain.schedules.any_of import AnyOf
from matins.domain.schedules.every import Every
from matins.domain.schedules.members import MEMBERS, Member, fields_given, parse_member
from matins.domain.schedules.parsed import NO_JITTER, Jitter, ParsedSchedule
from matins.domain.schedules.report import ProblemReport
from matins.domain.schedules.schedule import Schedule
from matins.domain.time.civil import LAST_S
from matins.domain.time.instants import parse_instant
from matins.domain.time.zones import Zone, find_zone
from matins.domain.values.durations import parse_whole_seconds
from matins.domain.values.errors import Problem, ScheduleError, below

RUNS_MAX: Final = 1_000
CALENDARS_MAX: Final = 10

_PARSED: Final = "parsed"


def parse_schedule(schedule: Schedule) -> ParsedSchedule:
    """Return what a schedule means. Raises ScheduleError with all that is wrong with it."""
    known: ParsedSchedule | None = vars(schedule).get(_PARSED)
    if known is not None:
        return known
    report = ProblemReport()
    parsed = _parse_once(schedule, report)
    if parsed is None:
        raise ScheduleError(
            "; ".join(f"{problem.where}: {problem.message}" for problem in report.problems)
        )
    return parsed


def problems(schedule: Schedule) -> list[Problem]:
    """Return all that is wrong with a schedule, by field; empty when it can be parsed."""
    report = ProblemReport()
    _parse_once(schedule, report)
    return report.problems


def _parse_once(schedule: Schedule, report: ProblemReport) -> ParsedSchedule | None:
    """Parse a schedule; the result stays with it, so that checking and compiling share it."""
    parsed: ParsedSchedule | None = vars(schedule).get(_PARSED)
    if parsed is None:
        parsed = vars(schedule)[_PARSED] = _parse(schedule, report)
    return parsed


def _parse(schedule: Schedule, report: ProblemReport) -> ParsedSchedule | None:
    """Parse a schedule; None if anything is wrong with it, which is reported."""
    zone = report.attempt("timezone", find_zone, schedule.timezone) or find_zone("UTC")
    if schedule.chain is not None:
        return _parse_chain(schedule, schedule.chain, zone, report)
    kind: Member | AnyOf | None = parse_member(schedule, zone, report)
    if schedule.any_of is not None:
        kind = AnyOf.parse(schedule.any_of, zone, report)
    jitter_s = report.attempt("jitter", parse_whole_seconds, schedule.jitter)
    starts, ends = schedule.starts_at, schedule.ends_at
    first = None if starts is None else report.attempt("starts_at", parse_instant, starts, zone)
    last = None if ends is None else report.attempt("ends_at", parse_instant, ends, zone)
    if first is not None and last is not None and last < first:
        report.add("ends_at", f"{ends!r} lies before starts_at")
    delete_after_s = _check_rest(schedule, report)
    if not report.is_empty or kind is None or jitter_s is None:
        return None
    jitter = Jitter(jitter_s, schedule.spread == "job", LAST_S if last is None else last)
    parsed = ParsedSchedule(kind, zone, jitter, first, last, schedule.max_runs, delete_after_s)
    if schedule.follows_end and isinstance(kind, Every):
        after_end = AfterEnd(kind.interval, zone, parsed.first, parsed.last, parsed.max_runs)
        return replace(parsed, kind=after_end)
    return parsed


def _parse_chain(
    schedule: Schedule, chain: AfterJobs, zone: Zone, report: ProblemReport
) -> ParsedSchedule | None:
    """Parse what is due with other jobs' runs: nothing else decides when."""
    for problem in below("after", chain.problems()):
        report.add(problem.where, problem.message)
    plain = Schedule(timezone=schedule.timezone, after=chain)
    for field in schedule.__struct_fields__:
        if getattr(schedule, field) != getattr(plain, field):
            report.add(field, "can't go with after: {jobs: …}, which alone says when it is due")
    return ParsedSchedule(Chained(chain), zone, NO_JITTER) if report.is_empty else None


def _check_rest(schedule: Schedule, report: ProblemReport) -> int | None:
    """Check what does not depend on the kind's own meaning; return `delete_after` in seconds."""
    if schedule.max_runs is not None and not 1 <= schedule.max_runs <= RUNS_MAX:
        report.add("max_runs", f"is {schedule.max_runs}; it must be from 1 to {RUNS_MAX}")
    delete_after_s = None
    if schedule.delete_after is not None:
        delete_after_s = report.attempt("delete_after", _parse_delete_after, schedule)
    if schedule.follows_end:
        report.attempt("after", _check_after, schedule)
    if schedule.calendars or schedule.on_closed != "skip":
        report.attempt("calendars", _check_calendars, schedule)
    return delete_after_s


def _parse_delete_after(schedule: Schedule) -> int:
    assert schedule.delete_after is not None
    delete_after_s = parse_whole_seconds(schedule.delete_after)
    fields = {field for times in schedule.kinds() for field in fields_given(times)}
    endless = schedule.ends_at is None and schedule.max_runs is None
    if endless and not all(MEMBERS[field].ENDS for field in fields):
        raise ScheduleError(
            "goes with a schedule that comes to an end; write at, max_runs or ends_at too"
        )
    return delete_after_s


def _check_after(schedule: Schedule) -> None:
    if schedule.every is None:
        raise ScheduleError("'end' goes with every only; write every, or leave it out")
    if schedule.anchor is not None:
        raise ScheduleError("'end' counts from the end of each run; leave the anchor out")
    if schedule.on_closed != "skip":
        raise ScheduleError("'end' can't be moved to a business day; write on_closed: skip")


def _check_calendars(schedule: Schedule) -> None:
    if len(schedule.calendars) > CALENDARS_MAX:
        raise ScheduleError(f"are {len(schedule.calendars)}; write at most {CALENDARS_MAX}")
    if len(set(schedule.calendars)) < len(schedule.calendars):
        raise ScheduleError("names one calendar twice; write each once")
    if schedule.on_closed != "skip" and not schedule.calendars:
        raise ScheduleError("are missing, though on_closed speaks of them; name at least one")
