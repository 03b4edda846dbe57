"""Expands the recurrence rules (RRULE) of an iCalendar file within some years."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from matins.domain.calendars.ics.components import Property
from matins.domain.schedules.rrule.parts import Frequency, Parts, read_parts
from matins.domain.schedules.rrule.recurrences import read_recurrence
from matins.domain.schedules.rules import Rule
from matins.domain.time.zones import Zone
from matins.domain.values.errors import ScheduleError

WORK_MAX: Final = 75_000
"""The most steps for all rules of a file together, of some 30 microseconds each at worst."""

_RULE_COST: Final = 250


class ExpansionBounds:
    """The time, in seconds from 1970 UTC, within which the rules of one file are expanded."""

    __slots__ = ("_left", "first", "last")

    def __init__(self, first: int, last: int) -> None:
        self.first = first
        self.last = last
        self._left = WORK_MAX

    def starts(self, prop: Property, start: int, zone: Zone, length_s: int) -> Iterator[int]:
        """Yield when an event that begins at `start` begins again, as far as it is in the window.

        Raises ScheduleError with the rule's line if it can't be read, if it recurs more often than
        daily, and if it is too much work.
        """
        yield from self._walk(self._read(prop, start, zone), self.first - length_s)

    def onsets(self, prop: Property, start: int, zone: Zone) -> Iterator[int]:
        """Yield the same for a part of a zone, and the last onset before the window."""
        rule = self._read(prop, start, zone)
        before = rule.previous_before(self.first)
        if before is not None:
            yield before
        yield from self._walk(rule, self.first)

    def _read(self, prop: Property, start: int, zone: Zone) -> Rule:
        text = prop.value.strip().strip(";")
        try:
            parts = read_parts(text)
            _check_frequency(parts)
            # What BYSETPOS chooses is counted one by one.
            self._spend(_RULE_COST + (parts.count or 0 if parts.positions else 0))
            return read_recurrence(text, zone, start)
        except ScheduleError as error:
            raise ScheduleError(f"line {prop.line}: {error}") from error

    def _walk(self, rule: Rule, first: int) -> Iterator[int]:
        due = rule.next_after(first - 1)
        while due is not None and due <= self.last:
            self._spend(1)
            yield due
            due = rule.next_after(due)

    def _spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise ScheduleError("too many events recur, or too often; import fewer of them")


def _check_frequency(parts: Parts) -> None:
    if parts.frequency > Frequency.DAILY:
        raise ScheduleError(
            f"RRULE: the rule has FREQ={parts.frequency.name}; an event may recur daily, weekly,"
            " monthly or yearly"
        )
