"""Reads the value of an RRULE (RFC 5545, 3.3.10), and refuses what that section forbids."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final

import msgspec

from matins.domain.values.errors import ScheduleError

WEEKDAYS: Final = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


class Frequency(IntEnum):
    """The periods of a rule, the coarsest first."""

    YEARLY = 0
    MONTHLY = 1
    WEEKLY = 2
    DAILY = 3
    HOURLY = 4
    MINUTELY = 5
    SECONDLY = 6


UNIT_S: Final = {Frequency.HOURLY: 3600, Frequency.MINUTELY: 60, Frequency.SECONDLY: 1}
"""The periods that follow real time, in seconds."""


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule says; a tuple is sorted, and empty where the rule says nothing.

    `weekdays` are pairs of an ordinal (0: every one) and a weekday (0 is Monday). `until` is as
    written, for the rule alone can't tell in which zone.
    """

    frequency: Frequency
    interval: int = 1
    count: int | None = None
    until: str | None = None
    months: tuple[int, ...] = ()
    weeks: tuple[int, ...] = ()
    year_days: tuple[int, ...] = ()
    month_days: tuple[int, ...] = ()
    weekdays: tuple[tuple[int, int], ...] = ()
    hours: tuple[int, ...] = ()
    minutes: tuple[int, ...] = ()
    seconds: tuple[int, ...] = ()
    positions: tuple[int, ...] = ()
    week_start: int = 0

    @property
    def is_limited(self) -> bool:
        """Return whether any BYxxx part narrows the rule or adds to it."""
        days = self.months or self.weeks or self.year_days or self.month_days or self.weekdays
        return bool(days or self.hours or self.minutes or self.seconds)


_RANGES: Final = {
    "BYMONTH": (1, 12, False),
    "BYWEEKNO": (1, 53, True),
    "BYYEARDAY": (1, 366, True),
    "BYMONTHDAY": (1, 31, True),
    "BYHOUR": (0, 23, False),
    "BYMINUTE": (0, 59, False),
    "BYSECOND": (0, 60, False),
    "BYSETPOS": (1, 366, True),
}
"""The lowest and highest number of each part, and whether it may count from the end."""

_NAMES: Final = ("FREQ", "INTERVAL", "COUNT", "UNTIL", *_RANGES, "BYDAY", "WKST")
_NUMBER: Final = re.compile(r"\d{1,3}", re.ASCII)
_SIGNED: Final = re.compile(r"[+-]?\d{1,3}", re.ASCII)
_COUNT: Final = re.compile(r"0*[1-9]\d{0,9}", re.ASCII)
_BY_DAY: Final = re.compile(rf"([+-]?\d{{1,2}})?({'|'.join(WEEKDAYS)})", re.ASCII)


def read_parts(value: str) -> Parts:
    """Read the value of an RRULE. Raises ScheduleError."""
    texts = _split(value.upper())
    parts = Parts(
        frequency=_frequency(texts),
        interval=_whole(texts, "INTERVAL") or 1,
        count=_whole(texts, "COUNT"),
        until=texts.get("UNTIL"),
        months=_numbers(texts, "BYMONTH"),
        weeks=_numbers(texts, "BYWEEKNO"),
        year_days=_numbers(texts, "BYYEARDAY"),
        month_days=_numbers(texts, "BYMONTHDAY"),
        weekdays=_weekdays(texts),
        hours=_numbers(texts, "BYHOUR"),
        minutes=_numbers(texts, "BYMINUTE"),
        # No clock of ours shows a leap second: it is read as the second before it (3.3.12).
        seconds=tuple(sorted({min(second, 59) for second in _numbers(texts, "BYSECOND")})),
        positions=_numbers(texts, "BYSETPOS"),
        week_start=_week_start(texts),
    )
    _check(parts)
    return parts


def _split(value: str) -> dict[str, str]:
    texts: dict[str, str] = {}
    for pair in value.split(";"):
        name, equals, rest = pair.partition("=")
        if not equals or not rest:
            raise _refuse(f"has {pair[:40]!r}, which is not NAME=VALUE; write such as FREQ=DAILY")
        if name not in _NAMES:
            raise _refuse(f"has no part {name[:40]!r}; write {', '.join(_NAMES)}")
        if name in texts:
            raise _refuse(f"has {name} twice; write it once")
        texts[name] = rest
    return texts


def _frequency(texts: dict[str, str]) -> Frequency:
    text = texts.get("FREQ", "")
    if text not in Frequency.__members__:
        names = ", ".join(Frequency.__members__)
        raise _refuse(f"has {f'FREQ={text[:40]}' if text else 'no FREQ'}; write FREQ={names}")
    return Frequency[text]


def _whole(texts: dict[str, str], name: str) -> int | None:
    text = texts.get(name)
    if text is None:
        return None
    if not _COUNT.fullmatch(text):
        raise _refuse(f"has {name}={text[:40]}; write a whole number from 1 to 9999999999")
    return int(text)


def _numbers(texts: dict[str, str], name: str) -> tuple[int, ...]:
    if name not in texts:
        return ()
    low, high, is_signed = _RANGES[name]
    form = _SIGNED if is_signed else _NUMBER
    numbers = set[int]()
    for text in texts[name].split(","):
        number = int(text) if form.fullmatch(text) else -1000
        if not low <= (abs(number) if is_signed else number) <= high:
            signed = f" or -{high} to -{low}" if is_signed else ""
            raise _refuse(f"has {name}={text[:40]}; write {low} to {high}{signed}")
        numbers.add(number)
    return tuple(sorted(numbers))


def _weekdays(texts: dict[str, str]) -> tuple[tuple[int, int], ...]:
    if "BYDAY" not in texts:
        return ()
    weekdays = set[tuple[int, int]]()
    for text in texts["BYDAY"].split(","):
        match = _BY_DAY.fullmatch(text)
        ordinal = int(match[1] or 0) if match else 0
        if not match or (match[1] and not 1 <= abs(ordinal) <= 53):
            raise _refuse(f"has BYDAY={text[:40]}; write such as MO, 2MO or -1MO")
        weekdays.add((ordinal, WEEKDAYS.index(match[2])))
    return tuple(sorted(weekdays))


def _week_start(texts: dict[str, str]) -> int:
    text = texts.get("WKST", "MO")
    if text not in WEEKDAYS:
        raise _refuse(f"has WKST={text[:40]}; write one of {', '.join(WEEKDAYS)}")
    return WEEKDAYS.index(text)


def _check(parts: Parts) -> None:
    """Refuse parts that don't go together."""
    frequency = parts.frequency
    if parts.count is not None and parts.until is not None:
        raise _refuse("has COUNT and UNTIL; write one of the two")
    if parts.weeks and frequency != Frequency.YEARLY:
        raise _refuse(f"has BYWEEKNO, which goes with FREQ=YEARLY only, not {frequency.name}")
    if parts.year_days and Frequency.MONTHLY <= frequency <= Frequency.DAILY:
        raise _refuse(f"has BYYEARDAY, which does not go with FREQ={frequency.name}; write YEARLY")
    if parts.month_days and frequency == Frequency.WEEKLY:
        raise _refuse("has BYMONTHDAY, which does not go with FREQ=WEEKLY; write MONTHLY or DAILY")
    if parts.positions and not parts.is_limited:
        raise _refuse("has BYSETPOS alone; it chooses among what another BYxxx part gives")
    _check_ordinals(parts)


def _check_ordinals(parts: Parts) -> None:
    numbered = [ordinal for ordinal, _ in parts.weekdays if ordinal]
    if not numbered:
        return
    if parts.frequency > Frequency.MONTHLY:
        raise _refuse(
            f"has BYDAY with a number ({numbered[0]}), which goes with FREQ=MONTHLY and YEARLY "
            f"only, not {parts.frequency.name}"
        )
    if parts.weeks:
        raise _refuse("has BYDAY with a number, which does not go with BYWEEKNO; leave one out")
    by_month = parts.months or parts.frequency == Frequency.MONTHLY
    if by_month and max(map(abs, numbered)) > 5:
        raise _refuse("has BYDAY with a number over 5, and no month has more of any weekday")


def _refuse(reason: str) -> ScheduleError:
    return ScheduleError(f"RRULE: the rule {reason}")
