"""What a calendar closes in the time to come, for people to look at."""

from __future__ import annotations

from datetime import date, datetime
from typing import Final

import msgspec

from matins.domain.calendars.compiled import CompiledCalendar
from matins.domain.time.civil import DAY_S
from matins.domain.time.instants import epoch_s, instant_of

DAYS_AHEAD: Final = 400
SHOWN_MAX: Final = 20


class ClosedDay(msgspec.Struct, frozen=True):
    """A day that is closed at noon, and why."""

    date: date
    reason: str


def closed_days(closures: CompiledCalendar, now: datetime) -> list[ClosedDay]:
    """Return the next days that are closed at noon in the calendar's zone, at most 20."""
    zone = closures.zone
    today = (epoch_s(now) + zone.offset_at(epoch_s(now))) // DAY_S
    days: list[ClosedDay] = []
    for day in range(today, today + DAYS_AHEAD):
        reason = closures.closed(zone.first_reached(day * DAY_S + DAY_S // 2))
        if reason is not None and len(days) < SHOWN_MAX:
            days.append(ClosedDay(instant_of(day * DAY_S).date(), reason))
    return days
