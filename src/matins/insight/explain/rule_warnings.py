"""Where an RFC 5545 rule leaves out what many who write it expect."""

from __future__ import annotations

from collections.abc import Iterator

from matins.domain.schedules.instants import instant_of
from matins.domain.schedules.recurrence_parts import Frequency
from matins.domain.schedules.recurrence_text import parse_recurrence
from matins.domain.schedules.zones import find_zone
from matins.insight.explain.short_months import say_short_months


def rule_warnings(text: str, timezone: str, start: int) -> Iterator[str]:
    """Give the warnings about a rule; the arguments are those of `say_rrule`."""
    read = parse_recurrence(text, find_zone(timezone), start)
    parts, first = read.parts, instant_of(read.wall)
    if parts is None or parts.frequency > Frequency.MONTHLY:
        return
    days, months = parts.month_days, parts.months or tuple(range(1, 13))
    if not days and not (parts.weekdays or parts.weeks or parts.year_days):
        days = (first.day,)
        if parts.frequency == Frequency.YEARLY and not parts.months:
            months = (first.month,)
    said = "" if any(day < 0 for day in days) else say_short_months(days, months)
    if said:
        yield f"not each time: {said}; write BYMONTHDAY=-1 for the last day"
