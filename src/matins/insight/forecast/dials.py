"""A day of a cron expression as its hours, and what is due in each of them: they are all alike."""

from __future__ import annotations

import msgspec

from matins.domain.schedules.cron.pattern import Pattern
from matins.domain.time.civil import DAY_S

HOUR_S = 3600


class Dial(msgspec.Struct, frozen=True):
    """The matching hours of a day, and the matching seconds of each such hour; sorted."""

    hours: tuple[int, ...]
    seconds: tuple[int, ...]


def dial(pattern: Pattern) -> Dial:
    """Read a pattern's hours and seconds off one of its days."""
    day = pattern.days.next(0)
    assert day is not None, "a pattern without a day is refused when it is parsed"
    midnight = day * DAY_S
    hours, seconds = list[int](), list[int]()
    at = pattern.next_from(midnight)
    while at is not None and at < midnight + DAY_S:
        hours.append((at - midnight) // HOUR_S)
        over = midnight + (hours[-1] + 1) * HOUR_S
        while not hours[1:] and at is not None and at < over:
            seconds.append((at - midnight) % HOUR_S)
            at = pattern.next_from(at + 1)
        at = pattern.next_from(over)
    return Dial(tuple(hours), tuple(seconds))
