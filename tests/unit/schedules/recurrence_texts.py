"""Recurrence rules made at random, and what python-dateutil makes of them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import Final
from unittest.mock import patch

import msgspec
from dateutil.rrule import rrule, rrulestr
from hypothesis import strategies as st
from tests.unit.schedules.clock_walk import zone_info

WEEKDAYS: Final = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
YEARS: Final = 10
"""How many years from its start on a rule is compared."""


class Made(msgspec.Struct, frozen=True):
    """A rule and the wall time at which it starts."""

    rule: str
    start: datetime

    @property
    def end(self) -> datetime:
        """Return the wall time from which on nothing is compared."""
        return datetime(self.start.year + YEARS, 1, 1)  # noqa: DTZ001

    def text(self, zone: str) -> str:
        """Return the lines for a zone."""
        return f"DTSTART;TZID={zone}:{self.start:%Y%m%dT%H%M%S}\nRRULE:{self.rule}"

    def walls(self, most: int = 6) -> list[datetime]:
        """Return the first wall times of the rule by dateutil."""
        # dateutil searches as far as this for a rule that never comes.
        with patch.object(dt, "MAXYEAR", self.end.year):
            try:
                found = rrulestr(self.rule, dtstart=self.start, ignoretz=True)
                assert isinstance(found, rrule)
                return list(islice(takewhile(lambda wall: wall < self.end, found), most))
            except ValueError:  # a rule that never comes, where dateutil sees that
                return []


def first_pass(wall: datetime, zone: str) -> datetime | None:
    """Return the first instant at which clocks show a wall time, by the standard library."""
    local = wall.replace(tzinfo=zone_info(zone), fold=0)
    back = local.astimezone(UTC).astimezone(zone_info(zone))
    return local.astimezone(UTC) if back.replace(tzinfo=None) == wall else None


STARTS: Final = st.integers(0, 50 * 365 * 86_400).map(
    lambda second: datetime(1990, 1, 1) + timedelta(seconds=second)  # noqa: DTZ001
)


def some(values: Sequence[object], most: int) -> st.SearchStrategy[str]:
    """Make a list of some of the values."""
    chosen = st.lists(st.sampled_from(values), min_size=1, max_size=most, unique=True)
    return chosen.map(lambda found: ",".join(map(str, found)))


def both(high: int) -> list[int]:
    """Return the numbers from 1, and those from -1 down."""
    return [*range(1, high + 1), *range(-high, 0)]


def numbered(high: int) -> st.SearchStrategy[str]:
    """Make weekdays with numbers: dateutil is wrong where some have none."""
    return some([f"{number}{day}" for number in both(high) for day in WEEKDAYS], 4)


def joined(*parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Put parts together; an empty one is left out."""
    return st.tuples(*parts).map(lambda found: ";".join(filter(None, found)))


def maybe(name: str, values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Make a part that is left out as often as not."""
    return st.just("") | values.map(lambda value: f"{name}={value}")


def numbers(low: int, high: int) -> st.SearchStrategy[str]:
    """Make one number."""
    return st.integers(low, high).map(str)


PLAIN: Final = some(WEEKDAYS, 5)
WKST: Final = maybe("WKST", st.sampled_from(WEEKDAYS))
MONTHS: Final = maybe("BYMONTH", some(range(1, 13), 6))
MONTH_DAYS: Final = maybe("BYMONTHDAY", some(both(31), 8))
YEAR_DAYS: Final = maybe("BYYEARDAY", some(both(366), 12))
TIMES: Final = joined(
    maybe("BYHOUR", some(range(24), 4)),
    maybe("BYMINUTE", some(range(60), 4)),
    maybe("BYSECOND", some(range(60), 3)),
)
POSITIONS: Final = some([1, 2, 3, 5, 8, -1, -2, -3, -7], 3).map("BYSETPOS={}".format)


def coarse(
    *more: st.SearchStrategy[str], times: st.SearchStrategy[str] = TIMES, weekly: bool = True
) -> st.SearchStrategy[str]:
    """Make rules with FREQ=DAILY and coarser, each with some more parts."""
    step, rest = maybe("INTERVAL", numbers(1, 13)), (times, WKST, *more)
    daily = joined(st.just("FREQ=DAILY"), step, MONTHS, MONTH_DAYS, maybe("BYDAY", PLAIN), *rest)
    monthly = joined(
        st.just("FREQ=MONTHLY"), step, MONTHS, MONTH_DAYS, maybe("BYDAY", PLAIN), *rest
    )
    nth = joined(st.just("FREQ=MONTHLY"), step, MONTHS, numbered(5).map("BYDAY={}".format), *rest)
    yearly = joined(
        st.just("FREQ=YEARLY"), step, MONTHS, MONTH_DAYS, YEAR_DAYS, maybe("BYDAY", PLAIN), *rest
    )
    nth_of_year = joined(st.just("FREQ=YEARLY"), step, numbered(53).map("BYDAY={}".format), *rest)
    nth_of_month = joined(
        st.just("FREQ=YEARLY"),
        some(range(1, 13), 4).map("BYMONTH={}".format),
        numbered(5).map("BYDAY={}".format),
        *rest,
    )
    weeks = joined(
        st.just("FREQ=YEARLY"),
        step,
        # dateutil is wrong about the weeks around New Year.
        some([*range(2, 52), *range(-51, -1)], 6).map("BYWEEKNO={}".format),
        PLAIN.map("BYDAY={}".format),
        MONTHS,
        *rest,
    )
    made = daily | monthly | nth | yearly | nth_of_year | nth_of_month | weeks
    if not weekly:
        return made
    return made | joined(st.just("FREQ=WEEKLY"), step, MONTHS, maybe("BYDAY", PLAIN), *rest)


def fine(*more: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Make rules with FREQ=HOURLY and finer, each with some more parts."""
    rest = (MONTHS, MONTH_DAYS, maybe("BYDAY", PLAIN), TIMES, *more)
    hourly = joined(st.just("FREQ=HOURLY"), maybe("INTERVAL", numbers(1, 50)), *rest)
    minutely = joined(st.just("FREQ=MINUTELY"), maybe("INTERVAL", numbers(1, 100)), *rest)
    steps = st.sampled_from(["2", "7", "30", "90", "3600", "43200", "86400"])
    secondly = joined(st.just("FREQ=SECONDLY"), maybe("INTERVAL", steps), *rest)
    return hourly | minutely | secondly
