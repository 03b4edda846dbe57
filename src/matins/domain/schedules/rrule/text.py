"""Reads the lines of a recurrence: DTSTART, RRULE, RDATE and EXDATE as RFC 5545 writes them."""

from __future__ import annotations

import re
from datetime import date
from typing import Final

import msgspec
from msgspec.structs import replace

from matins.domain.schedules.rrule.parts import Frequency, Parts, read_parts
from matins.domain.schedules.rrule.work import check_work
from matins.domain.time.civil import DAY_S, FIRST_S, LAST_S
from matins.domain.time.wall_clock import WallClock
from matins.domain.time.zones import Zone, find_zone
from matins.domain.values.errors import ScheduleError

LENGTH_MAX: Final = 10_000
_EPOCH: Final = date(1970, 1, 1).toordinal()
_FOLD: Final = re.compile(r"\r?\n[ \t]")
_NAMES: Final = "DTSTART|RRULE|RDATE|EXDATE|EXRULE"
_BREAK: Final = re.compile(rf"[\r\n]+|[ \t]+(?=(?:{_NAMES})[;:])", re.IGNORECASE)
_LINE: Final = re.compile(
    r"""(?P<name>[A-Z-]+)(?P<parameters>(?:;[A-Z-]+=(?:"[^"]*"|[^";:]*))*):(?P<value>.*)""",
    re.ASCII | re.IGNORECASE,
)
_VALUE: Final = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z?))?", re.ASCII)
_FORM: Final = "write it as 20261201T090000, 20261201T090000Z or 20261201"


class ContentLine(msgspec.Struct, frozen=True):
    """One property: its name in upper case, its two parameters and its value."""

    name: str
    value: str
    tzid: str | None = None
    kind: str | None = None


class WrittenTime(msgspec.Struct, frozen=True):
    """A date or date-time as written: the wall time, in seconds, and what was said about it."""

    wall: int
    is_date: bool
    is_utc: bool


class Recurrence(msgspec.Struct, frozen=True, eq=False):
    """What the lines say, in seconds: instants, and the wall time at which the rule starts.

    `excluded` are first instants and ends, in order and apart: an EXDATE that is a date excludes
    all of its day. Where there are no `parts`, only `added` is due. `has_start`: there is a
    DTSTART; without one the rule starts in 1970, or where `starting` says.
    """

    clock: WallClock
    has_start: bool
    start: int
    wall: int
    parts: Parts | None
    until: int | None
    added: list[int]
    excluded: list[tuple[int, int]]

    def starting(self, start: int) -> Recurrence:
        """Return it with an instant as its start, unless a DTSTART names one.

        Raises ScheduleError if the clocks there show no time that can be written.
        """
        if self.has_start or start == self.start:
            return self
        wall = start + self.clock.offset_at(start)
        _check_wall(wall)
        return replace(self, start=start, wall=wall)


def parse_recurrence(text: str, zone: Zone) -> Recurrence:
    """Read the lines; local times without a TZID of their own are those of DTSTART's, or `zone`'s.

    Raises ScheduleError.
    """
    lines = _read_lines(text)
    named: dict[str, list[ContentLine]] = {name: [] for name in _NAMES.split("|")}
    for line in lines:
        named[line.name].append(line)
    for name in ("DTSTART", "RRULE"):
        if len(named[name]) > 1:
            raise ScheduleError(f"{name}: there are {len(named[name])} of them; write one")
    rules = [read_parts(line.value) for line in named["RRULE"]]
    for rule in rules:
        check_work(rule)
    if not rules and not named["RDATE"]:
        raise ScheduleError("there is neither RRULE nor RDATE; write such as RRULE:FREQ=DAILY")
    parts = rules[0] if rules else None
    moment, local, clock, start = None, WallClock(zone), WallClock(zone), 0
    if named["DTSTART"]:
        moment, local, clock = _read_start(named["DTSTART"][0], zone, parts)
        start = _instant(moment, clock, "DTSTART")
    wall = start + clock.offset_at(start) if moment is None else moment.wall
    _check_wall(wall)
    is_date = moment is not None and moment.is_date
    added = [
        _read_added(line, local, value, is_date=is_date) for line, value in _values(named["RDATE"])
    ]
    if moment is not None and parts is None:
        added.append(start)
    excluded = [_read_excluded(line, local, value) for line, value in _values(named["EXDATE"])]
    return Recurrence(
        clock=clock,
        has_start=moment is not None,
        start=start,
        wall=wall,
        parts=parts,
        until=None if parts is None or parts.until is None else _read_until(parts.until, local),
        added=sorted(set(added)),
        excluded=_apart(excluded),
    )


def _check_wall(wall: int) -> None:
    if not FIRST_S <= wall <= LAST_S:
        raise ScheduleError("the rule would start outside the years 1 to 9999; write a DTSTART")


def _read_lines(text: str) -> list[ContentLine]:
    if len(text) > LENGTH_MAX:
        raise ScheduleError(f"the rule has over {LENGTH_MAX} characters; write a shorter one")
    return [_read_line(line.strip()) for line in _BREAK.split(_FOLD.sub("", text)) if line.strip()]


def _read_line(text: str) -> ContentLine:
    if ":" not in text and "FREQ=" in text.upper():
        return ContentLine("RRULE", text)
    match = _LINE.fullmatch(text)
    if match is None:
        raise ScheduleError(f"{text[:40]!r} is no line such as RRULE:FREQ=DAILY")
    name = match["name"].upper()
    if name == "EXRULE":
        raise ScheduleError("EXRULE: RFC 5545 has it no more; write EXDATE, or a narrower RRULE")
    if name not in _NAMES.split("|"):
        names = _NAMES.replace("|EXRULE", "").replace("|", ", ")
        raise ScheduleError(f"{name[:40]!r} is not a line of a rule; write {names}")
    parameters: dict[str, str] = {}
    for parameter in filter(
        None, re.split(r""";(?=[A-Z-]+=)""", match["parameters"], flags=re.IGNORECASE)
    ):
        key, _, value = parameter.partition("=")
        if key.upper() not in {"TZID", "VALUE"} or name == "RRULE" or key.upper() in parameters:
            raise ScheduleError(f"{name}: {parameter[:40]!r} can't stand here; leave it out")
        parameters[key.upper()] = value.strip('"')
    return ContentLine(
        name, match["value"].strip(), parameters.get("TZID"), parameters.get("VALUE")
    )


def _values(lines: list[ContentLine]) -> list[tuple[ContentLine, str]]:
    return [(line, value) for line in lines for value in line.value.split(",")]


def _read_start(
    line: ContentLine, zone: Zone, parts: Parts | None
) -> tuple[WrittenTime, WallClock, WallClock]:
    """Return DTSTART, the clock for local times, and the rule's own clock."""
    moment = _read_moment(line, line.value)
    local = _clock(line, WallClock(zone))
    clock = WallClock(find_zone("UTC")) if moment.is_utc else local
    if moment.is_date and parts is not None:
        timed = parts.hours or parts.minutes or parts.seconds
        if timed or parts.frequency > Frequency.DAILY:
            part = "BYHOUR, BYMINUTE or BYSECOND" if timed else f"FREQ={parts.frequency.name}"
            raise ScheduleError(
                f"DTSTART: {line.value} is a date, which does not go with {part}; "
                f"write it with a time, such as {line.value}T000000"
            )
    return moment, local, clock


def _read_moment(line: ContentLine, text: str) -> WrittenTime:
    """Read a date or date-time, and compare it with what its parameters say."""
    match = _VALUE.fullmatch(text.upper())
    if match is None:
        raise ScheduleError(f"{line.name}: {text[:40]!r} is no date or date-time; {_FORM}")
    year, month, day, hour, minute, second = (int(field or 0) for field in match.groups()[:6])
    try:
        number = date(year, month, day).toordinal() - _EPOCH
    except ValueError:
        number = None
    if number is None or hour > 23 or minute > 59 or second > 60:
        raise ScheduleError(f"{line.name}: {text!r} does not exist; {_FORM}")
    is_date, is_utc = match[4] is None, match[7] == "Z"
    if line.kind is not None and line.kind.upper() != ("DATE" if is_date else "DATE-TIME"):
        raise ScheduleError(
            f"{line.name}: {text!r} is not what VALUE={line.kind[:40]} says; leave VALUE out"
        )
    if line.tzid is not None and is_utc:
        raise ScheduleError(
            f"{line.name}: {text!r} is in UTC and has a TZID; leave out the Z or the TZID"
        )
    wall = number * DAY_S + hour * 3600 + minute * 60 + min(second, 59)
    return WrittenTime(wall, is_date, is_utc)


def _clock(line: ContentLine, otherwise: WallClock) -> WallClock:
    if line.tzid is None:
        return otherwise
    try:
        return WallClock(find_zone(line.tzid))
    except ScheduleError as error:
        raise ScheduleError(f"{line.name}: TZID {error}") from error


def _instant(moment: WrittenTime, clock: WallClock, name: str) -> int:
    instant = moment.wall if moment.is_utc else clock.instant_of(moment.wall)
    if not FIRST_S <= instant <= LAST_S:
        raise ScheduleError(f"{name}: the instant lies outside the years 1 to 9999 of UTC")
    return instant


def _read_added(line: ContentLine, local: WallClock, text: str, *, is_date: bool) -> int:
    if line.kind is not None and line.kind.upper() == "PERIOD":
        raise ScheduleError("RDATE: a period can't be due; write its start as a date-time")
    moment = _read_moment(line, text)
    if moment.is_date and not is_date:
        raise ScheduleError(
            f"RDATE: {text!r} has no time of day, and DTSTART is no date; write {text}T090000"
        )
    return _instant(moment, _clock(line, local), "RDATE")


def _read_excluded(line: ContentLine, local: WallClock, text: str) -> tuple[int, int]:
    moment, clock = _read_moment(line, text), _clock(line, local)
    if not moment.is_date:
        instant = moment.wall if moment.is_utc else clock.instant_of(moment.wall)
        return instant, instant + 1
    return clock.first_from(moment.wall), clock.first_from(moment.wall + DAY_S)


def _read_until(text: str, local: WallClock) -> int:
    """Return the last instant of a rule; a date includes all of its day."""
    moment = _read_moment(ContentLine("UNTIL", text), text)
    if moment.is_date:
        return min(local.first_from(moment.wall + DAY_S) - 1, LAST_S)
    return min(moment.wall if moment.is_utc else local.instant_of(moment.wall), LAST_S)


def _apart(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join what overlaps or touches."""
    joined: list[tuple[int, int]] = []
    for first, end in sorted(spans):
        if joined and first <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((first, end))
    return joined
