"""Groups of jobs: what their due times have in common, so that they are expanded once for all.

Jobs of a group differ by nothing, or by nothing but a phase: where in the group's step the job's
anchor lies. A schedule that many jobs share is examined once. Instants are whole seconds from 1970
UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final
from uuid import UUID

import msgspec
from msgspec.structs import replace

from matins.domain.calendars.compiled import CompiledCalendar
from matins.domain.schedules.after_end import AfterEnd
from matins.domain.schedules.at import At
from matins.domain.schedules.cron.clock_changes import cron_rule
from matins.domain.schedules.cron.days import Days
from matins.domain.schedules.cron.expression import Dialect
from matins.domain.schedules.cron.fields import QUARTZ_FIELDS, UNIX_FIELDS, YEAR, Field
from matins.domain.schedules.cron.kind import Cron
from matins.domain.schedules.cron.pattern import Pattern
from matins.domain.schedules.every import Every
from matins.domain.schedules.members import Member
from matins.domain.schedules.parsed import ParsedSchedule
from matins.domain.schedules.parsing import parse_schedule
from matins.domain.schedules.rrule.kind import RRule
from matins.domain.schedules.rules import Rule
from matins.domain.schedules.schedule import Schedule
from matins.domain.time.civil import DAY_S, FIRST_S, LAST_S
from matins.domain.time.instants import epoch_s
from matins.domain.time.zones import Zone
from matins.domain.timetables.compiling import Timing
from matins.domain.timetables.timetable import Timetable
from matins.domain.values.hashing import stable_number

MINUTE_S: Final = 60
HOUR_S: Final = 3600

SCHEDULES_MAX: Final = 65_536
"""How many schedules are remembered with their groups."""

_HASH: Final = re.compile(r"H(?:\((\d{1,4})-(\d{1,4})\))?(?:/(\d{1,4}))?", re.ASCII)


class DayShape(msgspec.Struct, frozen=True):
    """The matching hours of a day, and the matching seconds of each such hour; sorted.

    All days that a cron expression matches have the same shape, and so have all their hours.
    """

    hours: tuple[int, ...]
    seconds: tuple[int, ...]


class CronGroup(msgspec.Struct, frozen=True, eq=False):
    """The due times of a cron expression, from `first` to `last`."""

    rule: Rule
    days: Days
    shape: DayShape
    zone: Zone
    jitter_s: int = 0
    first: int = FIRST_S
    last: int = LAST_S


class EveryGroup(msgspec.Struct, frozen=True):
    """Due each `step_s`, from `first` to `last`: seconds of real time, or with a zone whole
    calendar days at one wall time.
    """

    step_s: int
    zone: Zone | None = None
    jitter_s: int = 0
    first: int = FIRST_S
    last: int = LAST_S

    @property
    def spread_s(self) -> int:
        """Over how many seconds each fire is spread: jitter never reaches the next due time."""
        return min(self.jitter_s + 1, self.step_s)

    def phase(self, anchor: int) -> int:
        """Return the place of an anchor in the step."""
        wall = anchor if self.zone is None else anchor + self.zone.offset_at(anchor)
        return wall % self.step_s


class AtGroup(msgspec.Struct, frozen=True):
    """Due once, at the anchor itself, which is the phase."""

    jitter_s: int = 0

    def phase(self, anchor: int) -> int:
        """Return the anchor."""
        return anchor


class RateGroup(msgspec.Struct, frozen=True):
    """Due about each `step_s`, at unknown times: the ends of runs decide."""

    step_s: int
    first: int = FIRST_S
    last: int = LAST_S


class TimetableGroup(msgspec.Struct, frozen=True, eq=False):
    """Due times that have to be enumerated: the most costly kind."""

    timetable: Timetable
    jitter_s: int = 0


PlainGroup = CronGroup | RateGroup | TimetableGroup
"""All jobs of the group are due at the same times."""

PhasedGroup = EveryGroup | AtGroup
"""The phase of each job counts."""

Group = PlainGroup | PhasedGroup


def day_shape(pattern: Pattern) -> DayShape:
    """Read the hours and seconds of a pattern off one of its days."""
    day = pattern.days.next(0)
    assert day is not None, "a pattern without a day is refused when it is parsed"
    midnight = day * DAY_S
    hours, seconds = list[int](), list[int]()
    at = pattern.next_from(midnight)
    while at is not None and at < midnight + DAY_S:
        hours.append((at - midnight) // HOUR_S)
        hour_end = midnight + (hours[-1] + 1) * HOUR_S
        while len(hours) == 1 and at is not None and at < hour_end:
            seconds.append((at - midnight) % HOUR_S)
            at = pattern.next_from(at + 1)
        at = pattern.next_from(hour_end)
    return DayShape(tuple(hours), tuple(seconds))


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
    parsed = parse_schedule(schedule)
    is_plain = parsed.max_runs is None and not schedule.calendars
    match parsed.kind:
        case AfterEnd(interval):  # about once in each such while
            rate: Grouped = RateGroup(interval.length_s, parsed.first, parsed.last), 0
            return lambda _entry: rate
        case Cron() as cron if is_plain:
            return _cron(parsed, cron)
        # With days and seconds it drifts over the day, and jumps when clocks change.
        case Every(interval) as every if is_plain and not (interval.days and interval.seconds):
            return _every(parsed, every)
        case At(_, (at,)) if is_plain and parsed.starts is parsed.ends is None:
            single: Grouped = AtGroup(parsed.jitter.longest_s), at
            return lambda _entry: single
        case _:
            return _enumerated(parsed)


def _cron(parsed: ParsedSchedule, cron: Cron) -> GroupOf:
    jitter_s, first, last = parsed.jitter.longest_s, parsed.first, parsed.last

    def group(seed: str) -> Group:
        pattern = cron.pattern(seed)
        rule = cron_rule(pattern, cron.zone, cron.dst)
        return CronGroup(rule, pattern.days, day_shape(pattern), cron.zone, jitter_s, first, last)

    if not cron.is_hashed:
        grouped: Grouped = group(""), 0
        return lambda _entry: grouped
    hashes = _hashes(cron.expression, cron.dialect)
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


def _every(parsed: ParsedSchedule, every: Every) -> GroupOf:
    by_day = every.zone if every.interval.days else None
    length_s, jitter_s = every.interval.length_s, parsed.jitter.longest_s
    group = EveryGroup(length_s, by_day, jitter_s, parsed.first, parsed.last)
    anchor = parsed.starts if every.anchor is None else every.anchor
    if anchor is not None:
        grouped = group, anchor
        return lambda _entry: grouped
    return lambda entry: (group, epoch_s(entry.timing.anchor))


def _enumerated(parsed: ParsedSchedule) -> GroupOf:
    """Group what has to be enumerated: job by job, or all jobs with the same calendars at once."""
    has_start = parsed.starts is not None
    if parsed.max_runs is not None or any(_differs(member, has_start) for member in parsed.members):
        return _by_timetable
    by_closures: dict[tuple[CompiledCalendar, ...], Grouped] = {}

    def group(entry: Entry) -> Grouped:
        closures = entry.timing.closures
        grouped = by_closures.get(closures)
        if grouped is None:
            grouped = by_closures[closures] = _by_timetable(entry)
        return grouped

    return group


def _differs(member: Member, has_start: bool) -> bool:
    """Return whether jobs with one schedule and the same calendars may differ in due times."""
    match member:
        case Cron():
            return member.is_hashed
        case Every():
            return member.anchor is None and not has_start
        case RRule():
            return not member.written.has_start and not has_start
        case At():
            return False


def _by_timetable(entry: Entry) -> Grouped:
    jitter_s = parse_schedule(entry.schedule).jitter.longest_s
    # Without its jitter a timetable is the same for all jobs that have it.
    plain = replace(entry.schedule, jitter="0s")
    return TimetableGroup(entry.timing.compile(plain, entry.id), jitter_s), 0
