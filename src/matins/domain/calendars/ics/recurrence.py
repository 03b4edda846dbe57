"""Expands recurrence rules (RRULE) of iCalendar files in a bounded amount of work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from math import prod
from typing import Final

from dateutil.rrule import rrule, rrulestr

from matins.domain.calendars.ics.values import read_value
from matins.domain.errors import ScheduleError
from matins.domain.schedules.instants import epoch_s
from matins.domain.schedules.zones import Zone

WORK_MAX: Final = 200_000
"""The most steps of all rules of a file together, some microseconds each."""

_STEP_COSTS: Final = {"DAILY": 1, "WEEKLY": 1, "MONTHLY": 2, "YEARLY": 16}
_TIME_PARTS: Final = ("BYHOUR", "BYMINUTE", "BYSECOND")
_TIMES_MAX: Final = 24
_INTERVAL_MAX: Final = 1_000
_FORM: Final = re.compile(r"[A-Z0-9=;,+-]+", re.ASCII | re.IGNORECASE)
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001  # rules are expanded in wall times


class Work:
    """What expanding rules may still cost."""

    __slots__ = ("_left",)

    def __init__(self, most: int = WORK_MAX) -> None:
        self._left = most

    def spend(self, steps: int) -> None:
        """Note steps that were done. Raises ScheduleError when there were too many."""
        self._left -= steps
        if self._left < 0:
            raise ScheduleError("the rules of the file take too many steps; import fewer events")


class _CountedInterval(int):
    """The interval of a rule, which counts how often the rule goes on by it.

    Nothing else bounds a rule that matches no date: dateutil searches until the year 9999.
    """

    work: Work
    cost: int

    def __radd__(self, other: int) -> int:
        self.work.spend(self.cost)
        return other + int(self)

    def __mul__(self, other: int) -> int:
        self.work.spend(self.cost)
        return int(self) * other


def expand(text: str, start: int, last: int, zone: Zone, work: Work) -> Iterator[int]:
    """Give the wall times (in seconds) of a rule that begins with `start`, up to `last`.

    UNTIL in UTC is read in `zone`. Raises ScheduleError if the rule can't be read, if it recurs
    more often than daily, and if it takes too much work.
    """
    try:
        for found in _read(text, start, zone, work):
            work.spend(1)
            wall = epoch_s(found.replace(tzinfo=UTC))
            if wall > last:
                return
            yield wall
    except ScheduleError:
        raise
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError) as error:
        raise ScheduleError(f"the rule {text[:80]!r} can't be read: {error}") from error


def _read(text: str, start: int, zone: Zone, work: Work) -> rrule:
    if not _FORM.fullmatch(text):
        raise ScheduleError(f"{text[:80]!r} is no rule such as FREQ=YEARLY")
    pairs = [pair.partition("=") for pair in text.upper().split(";") if pair]
    parts = {name: value for name, _, value in pairs}
    frequency = parts.get("FREQ", "")
    if frequency not in _STEP_COSTS:
        choice = "daily, weekly, monthly or yearly"
        raise ScheduleError(f"the rule has FREQ={frequency[:20]}; an event may recur {choice}")
    times = prod(parts.get(name, "").count(",") + 1 for name in _TIME_PARTS)
    if times > _TIMES_MAX:
        raise ScheduleError(f"the rule has {times} times of a day; give at most {_TIMES_MAX}")
    interval = _CountedInterval(parts.pop("INTERVAL", "1"))
    if not 1 <= interval <= _INTERVAL_MAX:
        raise ScheduleError(f"the rule has INTERVAL={interval}; give 1 to {_INTERVAL_MAX}")
    interval.work = work
    interval.cost = _STEP_COSTS[frequency] + len(text) // 8
    until = parts.pop("UNTIL", None)
    rest = ";".join(f"{name}={value}" for name, value in parts.items())
    rule = rrulestr(rest, dtstart=_EPOCH + timedelta(seconds=start))
    assert isinstance(rule, rrule), "only several rules make a set of rules"
    return rule.replace(
        interval=interval, until=None if until is None else _read_until(until, zone)
    )


def _read_until(text: str, zone: Zone) -> datetime:
    """Read the last wall time of a rule; a date includes all of its day."""
    until = read_value(text)
    if isinstance(until, datetime):
        if until.tzinfo is None:
            return until
        instant = epoch_s(until)
        return _EPOCH + timedelta(seconds=instant + zone.offset_at(instant))
    if not isinstance(until, date):
        raise ScheduleError(f"the rule has UNTIL={text[:40]}, which is no date or time")
    return datetime(until.year, until.month, until.day, 23, 59, 59)  # noqa: DTZ001
