"""A compiled cron expression: which wall times match, in local seconds from 1970."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache

from matins.domain.schedules.civil import DAY_S
from matins.domain.schedules.days import Days
from matins.domain.schedules.fields import members

_EACH = (1 << 60) - 1
_MINUTES = tuple(range(0, 3600, 60))
_SECONDS = tuple(range(3600))


class Pattern:
    """The wall times that a cron expression matches; it knows no zone.

    `seconds`, `minutes` and `hours` are bits, at least one of each is set.
    """

    __slots__ = (
        "_first_in_day",
        "_first_in_hour",
        "_has_hour",
        "_hour_before",
        "_hour_from",
        "_in_hour",
        "_in_hour_count",
        "_last_in_day",
        "_last_in_hour",
        "days",
        "is_fixed",
    )

    def __init__(
        self, seconds: int, minutes: int, hours: int, days: Days, *, is_fixed: bool
    ) -> None:
        self.is_fixed = is_fixed
        self.days = days
        self._in_hour = _seconds_in_hour(seconds, minutes)
        self._in_hour_count = len(self._in_hour)
        self._first_in_hour, self._last_in_hour = self._in_hour[0], self._in_hour[-1]
        self._has_hour, self._hour_from, self._hour_before = _hour_tables(hours)
        self._first_in_day = self._hour_from[0] * 3600 + self._first_in_hour
        self._last_in_day = self._hour_before[24] * 3600 + self._last_in_hour

    def next_from(self, wall: int) -> int | None:
        """Give the first matching wall time from `wall` on."""
        day, second = divmod(wall, DAY_S)
        days = self.days
        due = day if days.every else days.next(day)
        if due == day:
            hour = second // 3600
            if self._has_hour[hour]:
                index = bisect_left(self._in_hour, second - hour * 3600)
                if index < self._in_hour_count:
                    return day * DAY_S + hour * 3600 + self._in_hour[index]
            hour = self._hour_from[hour + 1]
            if hour < 24:
                return day * DAY_S + hour * 3600 + self._first_in_hour
            due = day + 1 if days.every else days.next(day + 1)
        return None if due is None else due * DAY_S + self._first_in_day

    def last_until(self, wall: int) -> int | None:
        """Give the last matching wall time up to and including `wall`."""
        day, second = divmod(wall, DAY_S)
        days = self.days
        due = day if days.every else days.previous(day)
        if due == day:
            hour = second // 3600
            if self._has_hour[hour]:
                index = bisect_right(self._in_hour, second - hour * 3600)
                if index:
                    return day * DAY_S + hour * 3600 + self._in_hour[index - 1]
            hour = self._hour_before[hour]
            if hour >= 0:
                return day * DAY_S + hour * 3600 + self._last_in_hour
            due = day - 1 if days.every else days.previous(day - 1)
        return None if due is None else due * DAY_S + self._last_in_day


def _seconds_in_hour(seconds: int, minutes: int) -> Sequence[int]:
    """Give the matching seconds of an hour, sorted."""
    if minutes == _EACH and seconds in {1, _EACH}:
        return _MINUTES if seconds == 1 else _SECONDS
    if seconds == 1:
        return [minute * 60 for minute in members(minutes)]
    chosen = members(seconds)
    return [minute * 60 + second for minute in members(minutes) for second in chosen]


@lru_cache(maxsize=1024)
def _hour_tables(hours: int) -> tuple[list[bool], list[int], list[int]]:
    """Give, per hour: if it matches, the first match from it on (24: none), the last before."""
    has = [bool(hours >> hour & 1) for hour in range(24)]
    first_from, last_before = [24] * 25, [-1] * 25
    for hour in range(23, -1, -1):
        first_from[hour] = hour if has[hour] else first_from[hour + 1]
    for hour in range(24):
        last_before[hour + 1] = hour if has[hour] else last_before[hour]
    return has, first_from, last_before
