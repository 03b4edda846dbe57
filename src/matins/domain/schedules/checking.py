"""What is wrong with a schedule as written: all of it at once, field by field."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from matins.domain.schedules.cron.expression import parse_cron
from matins.domain.schedules.every import parse_interval
from matins.domain.schedules.rrule.recurrences import read_recurrence
from matins.domain.schedules.schedule import Schedule, Times
from matins.domain.time.instants import parse_instant
from matins.domain.time.zones import Zone, find_zone, zone_names
from matins.domain.values.durations import parse_duration
from matins.domain.values.errors import Problem, ScheduleError

INSTANTS_MAX: Final = 1_000
MEMBERS_MAX: Final = 20
RUNS_MAX: Final = 1_000
CALENDARS_MAX: Final = 10

Check = tuple[str, Callable[[], object]]
"""A field and what raises ScheduleError if it is wrong."""


def problems(schedule: Schedule) -> list[Problem]:
    """Give all that is wrong with a schedule, by field; empty when it can be compiled."""
    found: dict[Problem, None] = {}
    for where, check in _checks(schedule):
        try:
            check()
        except ScheduleError as error:
            found[Problem(where, str(error))] = None
    return list(found)


def _checks(schedule: Schedule) -> Iterator[Check]:
    zone = _zone_or_utc(schedule.timezone)
    yield "timezone", lambda: find_zone(schedule.timezone)
    yield _kind_field(schedule), lambda: check_kind(schedule)
    yield from _times_checks(schedule, zone)
    if schedule.any_of is not None:
        yield from _union_checks(schedule.any_of, zone)
    yield "jitter", lambda: whole_seconds(schedule.jitter)
    for name, text in (("starts_at", schedule.starts_at), ("ends_at", schedule.ends_at)):
        if text is not None:
            yield name, partial(parse_instant, text, zone)
    yield "ends_at", lambda: _check_order(schedule, zone)
    yield "max_runs", lambda: _check_max_runs(schedule)
    yield "delete_after", lambda: _check_delete_after(schedule)
    yield "after", lambda: _check_after(schedule)
    yield "calendars", lambda: _check_calendars(schedule)


def _union_checks(members: list[Times], zone: Zone) -> Iterator[Check]:
    yield "any_of", lambda: _check_members(members)
    for index, member in enumerate(members[:MEMBERS_MAX]):
        prefix = f"any_of[{index}]"
        own = zone
        if member.timezone is not None:
            own = _zone_or_utc(member.timezone)
            yield f"{prefix}.timezone", partial(find_zone, member.timezone)
        yield f"{prefix}.{_kind_field(member)}", partial(check_kind, member)
        for where, check in _times_checks(member, own):
            yield f"{prefix}.{where}", check


def _times_checks(times: Times, zone: Zone) -> Iterator[Check]:
    cron, every, at, rrule = times.cron, times.every, times.at, times.rrule
    if cron is not None:
        yield "cron", lambda: parse_cron(cron, times.dialect, "")
    if every is not None:
        yield "every", lambda: parse_interval(every)
    if rrule is not None:
        yield "rrule", lambda: read_recurrence(rrule, zone, 0)
    if isinstance(at, str):
        yield "at", lambda: parse_instant(at, zone)
    elif at is not None:
        yield "at", lambda: check_count(at)
        for index, text in enumerate(at[:INSTANTS_MAX]):
            yield f"at[{index}]", partial(parse_instant, text, zone)
    anchor = times.anchor
    if anchor is not None:
        yield "anchor", lambda: parse_instant(anchor, zone)


def check_kind(times: Times) -> None:
    """Raise ScheduleError unless there is exactly one kind, and nothing that goes with another."""
    kinds = [times.cron, times.every, times.at, times.rrule]
    names = "cron, every, at and rrule"
    if isinstance(times, Schedule):
        kinds.append(None if times.any_of is None else "")
        names = "cron, every, at, rrule and any_of"
    if len(kinds) - kinds.count(None) != 1:
        raise ScheduleError(f"a schedule takes exactly one of {names}")
    if times.anchor is not None and times.every is None:
        raise ScheduleError("the schedule has an anchor, which goes with every only; leave it out")
    if times.dst is not None and times.cron is None:
        raise ScheduleError("the schedule has dst, which goes with cron only; leave it out")


def check_count(at: list[str]) -> None:
    """Raise ScheduleError if a list of instants is empty or too long."""
    if not 0 < len(at) <= INSTANTS_MAX:
        raise ScheduleError(f"the list has {len(at)} instants; write 1 to {INSTANTS_MAX}")


def whole_seconds(text: str) -> int:
    """Read a length of time in whole seconds; raises ScheduleError."""
    length = parse_duration(text)
    if length != int(length):
        raise ScheduleError(f"{text[:40]!r} has a fraction of a second; write whole seconds")
    return int(length)


def _kind_field(times: Times) -> str:
    """Give the field under which a wrong choice of kinds is told."""
    return "cron" if times.cron is not None else "every"


def _zone_or_utc(name: str) -> Zone:
    return find_zone(name if name in zone_names() else "UTC")


def _check_members(members: list[Times]) -> None:
    if not 0 < len(members) <= MEMBERS_MAX:
        raise ScheduleError(f"the union has {len(members)} members; write 1 to {MEMBERS_MAX}")


def _check_order(schedule: Schedule, zone: Zone) -> None:
    if schedule.starts_at is None or schedule.ends_at is None:
        return
    try:
        starts, ends = (parse_instant(it, zone) for it in (schedule.starts_at, schedule.ends_at))
    except ScheduleError:
        return  # told of already
    if ends < starts:
        raise ScheduleError(f"{schedule.ends_at!r} lies before starts_at")


def _check_max_runs(schedule: Schedule) -> None:
    if schedule.max_runs is not None and not 1 <= schedule.max_runs <= RUNS_MAX:
        raise ScheduleError(f"is {schedule.max_runs}; it must be from 1 to {RUNS_MAX}")


def _check_delete_after(schedule: Schedule) -> None:
    if schedule.delete_after is None:
        return
    whole_seconds(schedule.delete_after)
    endless = schedule.ends_at is None and schedule.max_runs is None
    if endless and any(times.cron or times.every for times in schedule.kinds()):
        raise ScheduleError(
            "goes with a schedule that comes to an end; write at, max_runs or ends_at too"
        )


def _check_after(schedule: Schedule) -> None:
    if not schedule.follows_end:
        return
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
