"""A compiled cron expression: which wall times match, in local seconds from 1970."""

from __future__ import annotations

from functools import lru_cache

from matins.domain.schedules.cron.days import Days
from matins.domain.time.civil import DAY_S


class Pattern:
    """The wall times that a cron expression matches; it knows no zone.

    `seconds`, `minutes` and `hours` are bits, at least one of each is set.
    """

    __slots__ = (
        "_first_in_day",
        "_first_second",
        "_last_in_day",
        "_last_second",
        "_minutes",
        "_seconds",
        "days",
        "is_fixed",
    )

    def __init__(
        self, seconds: int, minutes: int, hours: int, days: Days, *, is_fixed: bool
    ) -> None:
        self.is_fixed = is_fixed
        self.days = days
        self._minutes, first_minute, last_minute = _minutes_of_day(hours, minutes)
        self._seconds, first, last = _flags(seconds, 60)
        self._first_second, self._last_second = first, last
        self._first_in_day = first_minute * 60 + first
        self._last_in_day = last_minute * 60 + last

    def next_from(self, wall: int) -> int | None:
        """Return the first matching wall time from `wall` on."""
        day, second = divmod(wall, DAY_S)
        days = self.days
        due = day if days.every else days.next(day)
        if due == day:
            # The first minute whose last second has not gone by: the quotient is rounded up.
            minute = self._minutes.find("1", -((self._last_second - second) // 60))
            if minute >= 0:
                over = second - minute * 60
                if over > self._first_second:
                    return wall - over + self._seconds.find("1", over)
                return wall - over + self._first_second
            due = day + 1 if days.every else days.next(day + 1)
        return None if due is None else due * DAY_S + self._first_in_day

    def last_until(self, wall: int) -> int | None:
        """Return the last matching wall time up to and including `wall`."""
        day, second = divmod(wall, DAY_S)
        days = self.days
        due = day if days.every else days.previous(day)
        if due == day:
            # The last minute whose first second has come.
            minute = self._minutes.rfind("1", 0, (second - self._first_second) // 60 + 1)
            if minute >= 0:
                over = second - minute * 60
                if over < self._last_second:
                    return wall - over + self._seconds.rfind("1", 0, over + 1)
                return wall - over + self._last_second
            due = day - 1 if days.every else days.previous(day - 1)
        return None if due is None else due * DAY_S + self._last_in_day


@lru_cache(maxsize=1024)
def _flags(bits: int, size: int) -> tuple[str, int, int]:
    """Write out bits as `0` and `1`, the lowest first; return also the first and last that is set.

    So finding one is a single search.
    """
    flags = f"{bits:0{size}b}"[::-1]
    return flags, flags.find("1"), flags.rfind("1")


@lru_cache(maxsize=4096)
def _minutes_of_day(hours: int, minutes: int) -> tuple[str, int, int]:
    """Return the flags of a day's 1,440 minutes as `_flags` does, shared by all that have them."""
    in_hour, in_day = _flags(minutes, 60)[0], _flags(hours, 24)[0]
    flags = in_day.replace("0", "0" * 60).replace("1", in_hour)
    return flags, flags.find("1"), flags.rfind("1")
