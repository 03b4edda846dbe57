"""What the clock changes that lie ahead do to a schedule: times that don't exist or occur twice."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from matins.domain.schedules.at import At
from matins.domain.schedules.cron.clock_changes import Gap, Overlap, policy_of
from matins.domain.schedules.cron.kind import Cron
from matins.domain.schedules.every import Every, Interval
from matins.domain.schedules.members import Member
from matins.domain.schedules.rrule.kind import RRule
from matins.domain.schedules.rrule.parts import Frequency
from matins.domain.schedules.rrule.recurrences import read_recurrence
from matins.domain.time.civil import DAY_S
from matins.domain.time.instants import instant_of, is_local, parse_instant
from matins.domain.time.zones import Zone, find_zone
from matins.domain.timetables.timetable import Timetable
from matins.insight.explain.english import clock, date_of, listed

_OWN_ZONE: Final = re.compile(r';TZID=(?:"[^"]*"|[^":;]*)', re.IGNORECASE)
_NAMED_MAX: Final = 3
_DATES_MAX: Final = 3


class ClockWarning(msgspec.Struct, frozen=True):
    """What happens on some dates in a zone; `is_moved` if it happens to a fixed time."""

    before: str
    after: str
    is_moved: bool
    zone: str = ""

    def on(self, dates: list[str]) -> str:
        """Return the warning, with the dates on which it happens."""
        more = len(dates) - _DATES_MAX
        named = dates if more <= 0 else [*dates[:_DATES_MAX], f"{more} dates more"]
        where = f" in {self.zone}" if self.zone else ""
        return f"{self.before}on {listed(named)}{where}{self.after}"


class _Change(msgspec.Struct, frozen=True):
    """A clock change at an instant: the wall times from `low` to before `high` are touched."""

    at: int
    before: int
    after: int

    @property
    def is_gap(self) -> bool:
        return self.after > self.before

    @property
    def low(self) -> int:
        return self.at + min(self.before, self.after)

    @property
    def high(self) -> int:
        return self.at + max(self.before, self.after)


class _WallPattern(msgspec.Struct, frozen=True):
    """The wall times at which one kind of due times is due, and what it does at clock changes."""

    next_from: Callable[[int], int | None]
    gap: Gap
    overlap: Overlap
    is_fixed: bool

    def within(self, low: int, high: int) -> list[int]:
        """Return the first few of them from `low` to before `high`."""
        walls: list[int] = []
        wall = self.next_from(low)
        while wall is not None and wall < high and len(walls) <= _NAMED_MAX:
            walls.append(wall)
            wall = self.next_from(wall + 1)
        return walls


def clock_warnings(
    member: Member,
    zone: Zone,
    timetable: Timetable,
    span: tuple[int, int],
    *,
    seed: str,
    anchor: int,
) -> Iterator[tuple[int, ClockWarning]]:
    """Return each warning with its wall time, for clock changes after `span[0]` up to `span[1]`."""
    walls = _walls(member, zone, seed, anchor)
    if walls is None:
        return
    for change in _changes(zone, *span):
        touched = walls.within(change.low, change.high)
        if touched and (warning := _warn(change, walls, touched, timetable)):
            yield touched[0], warning


def next_skipped(member: Member, zone: Zone, after: int, *, seed: str, anchor: int) -> int | None:
    """Return the first wall time that is named after an instant, if clocks skip it; else None."""
    walls = _walls(member, zone, seed, anchor)
    wall = None if walls is None else walls.next_from(after + zone.offset_at(after) + 1)
    if wall is None:
        return None
    reached = zone.first_reached(wall)
    return wall if reached + zone.offset_at(reached) > wall else None


def _changes(zone: Zone, after: int, until: int) -> Iterator[_Change]:
    for index in range(bisect_right(zone.starts, after), bisect_right(zone.starts, until)):
        yield _Change(zone.starts[index], zone.offsets[index - 1], zone.offsets[index])


def _walls(member: Member, zone: Zone, seed: str, anchor: int) -> _WallPattern | None:
    """Return the wall times of a kind; None if it has none, or if they aren't known yet."""
    match member:
        case Cron():
            if member.is_hashed and not seed:
                return None
            pattern = member.pattern(seed)
            gap, overlap = policy_of(pattern, member.dst)
            return _WallPattern(pattern.next_from, gap, overlap, pattern.is_fixed)
        case Every(interval):
            start = member.start(anchor)
            return _daily_walls(interval, start + zone.offset_at(start))
        case RRule():
            return _rule_walls(member, zone, anchor)
        case At(texts):
            return _listed_walls(texts)


def _daily_walls(interval: Interval, first: int) -> _WallPattern | None:
    if not interval.days or interval.seconds:
        return None  # it counts in real time
    step = interval.days * DAY_S

    def next_from(wall: int) -> int:
        return first + max(0, -((first - wall) // step)) * step

    return _WallPattern(next_from, "run_after", "first", is_fixed=True)


def _rule_walls(rrule: RRule, zone: Zone, start: int) -> _WallPattern | None:
    """Return the wall times that a rule names, whether clocks show them or not."""
    parts = rrule.written.parts
    if parts is None or parts.frequency > Frequency.DAILY:
        return None  # it follows real time
    # In UTC clocks skip nothing, so that the rule leaves nothing out.
    first = start + zone.offset_at(start)
    rule = read_recurrence(_OWN_ZONE.sub("", rrule.text), find_zone("UTC"), first)
    return _WallPattern(lambda wall: rule.next_after(wall - 1), "skip", "first", is_fixed=True)


def _listed_walls(texts: Iterable[str]) -> _WallPattern:
    utc = find_zone("UTC")
    walls = sorted(parse_instant(text, utc) for text in texts if is_local(text))

    def next_from(wall: int) -> int | None:
        index = bisect_left(walls, wall)
        return walls[index] if index < len(walls) else None

    return _WallPattern(next_from, "run_after", "first", is_fixed=True)


def _warn(
    change: _Change, walls: _WallPattern, touched: list[int], timetable: Timetable
) -> ClockWarning | None:
    """Warn of a change; None if the schedule has not begun, has ended or is closed."""
    if change.is_gap:
        return _warn_of_gap(change, walls, touched, timetable)
    return _warn_of_overlap(change, walls, touched, timetable)


def _warn_of_gap(
    change: _Change, walls: _WallPattern, touched: list[int], timetable: Timetable
) -> ClockWarning | None:
    if walls.gap == "run_after":
        if not _runs(timetable, change.at):
            return None
        moved_to = clock(change.high % DAY_S)
        if change.high // DAY_S > touched[0] // DAY_S:
            moved_to += f" on {date_of(instant_of(change.high))}"
        once = "runs" if len(touched) == 1 else "runs once,"
        return ClockWarning(f"{_named(touched, 'do not exist')} ", f": {once} at {moved_to}", True)
    is_active = timetable.previous_before_s(change.at) is not None
    if not is_active or timetable.next_after_s(change.at - 1) is None:
        return None
    if walls.is_fixed:
        return ClockWarning(f"{_named(touched, 'do not exist')} ", ": left out", True)
    span = f"{clock(change.low % DAY_S)} to {clock(change.high % DAY_S)}"
    return ClockWarning("", f" clocks skip {span}: nothing is due in it", False)


def _warn_of_overlap(
    change: _Change, walls: _WallPattern, touched: list[int], timetable: Timetable
) -> ClockWarning | None:
    first, second = (touched[0] - offset for offset in (change.before, change.after))
    passes = [first] * (walls.overlap != "second") + [second] * (walls.overlap != "first")
    if not any(_runs(timetable, due) for due in passes):
        return None
    if walls.overlap == "both" and not walls.is_fixed:
        span = f"{clock(change.low % DAY_S)} to {clock(change.high % DAY_S)}"
        return ClockWarning("", f" {span} occurs twice: due in both", False)
    offsets = {"first": change.before, "second": change.after}
    time = clock(touched[0] % DAY_S) if len(touched) == 1 else ""
    if walls.overlap == "both":
        times = " and ".join(f"{time}{_offset(offset)}" for offset in offsets.values())
    else:
        times = f"{time}{_offset(offsets[walls.overlap])}"
    after = f": runs at {'both' if walls.overlap == 'both' else f'the {walls.overlap}'}, {times}"
    return ClockWarning(f"{_named(touched, 'occur twice')} ", after, True)


def _runs(timetable: Timetable, due: int) -> bool:
    return timetable.next_after_s(due - 1) == due and not timetable.skip_reason(due)


def _named(touched: list[int], verb: str) -> str:
    """Name wall times with a verb: `02:30 occurs twice`, `02:10 and 02:20 do not exist`."""
    names = [clock(wall % DAY_S) for wall in touched]
    if len(names) == 1:
        first, _, rest = verb.partition(" ")
        return f"{names[0]} {first}{'es' if first == 'do' else 's'} {rest}"
    if len(names) > _NAMED_MAX:
        names[_NAMED_MAX:] = ["more"]
    return f"{listed(names)} {verb}"


def _offset(seconds: int) -> str:
    """Return an offset from UTC: `+02:00`."""
    sign = "-" if seconds < 0 else "+"
    return f"{sign}{clock(abs(seconds))}"
