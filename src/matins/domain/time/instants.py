"""Instants: as texts with an offset or in a zone, and as whole seconds from 1970 UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from matins.domain.time.civil import FIRST_S, LAST_S
from matins.domain.time.zones import Zone
from matins.domain.values.errors import Problem, ScheduleError

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
SECOND: Final = timedelta(seconds=1)
FIRST_DUE: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""No due time lies before it: a run's id could not name it."""
_FORM: Final = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.0+)?)?"
    r"(?P<offset> ?(?:Z|[+-]\d\d(?::?[0-5]\d(?::?[0-5]\d)?)?))?",
    re.ASCII | re.IGNORECASE,
)
_HINT: Final = "write it as 2026-12-01T09:00:00+01:00, or without the offset in the schedule's zone"


def epoch_s(instant: datetime) -> int:
    """Return an aware instant in whole seconds from 1970 UTC, rounded down."""
    since = instant - _EPOCH
    return since.days * 86_400 + since.seconds


def instant_of(second: int) -> datetime:
    """Return the aware UTC instant of whole seconds from 1970."""
    return _EPOCH + timedelta(0, second)


def local_time(second: int, offset_s: int) -> datetime:
    """Return an instant as clocks show it that are so far ahead of UTC.

    It is shown in UTC where these clocks are in a year before 1 or after 9999.
    """
    if not FIRST_S <= second + offset_s <= LAST_S:
        offset_s = 0
    return instant_of(second).astimezone(timezone(timedelta(seconds=offset_s)))


def parse_instant(text: str, zone: Zone) -> int:
    """Read an instant, in seconds from 1970 UTC; a local time is met as a fixed-time job's is.

    One that clocks skip is the first instant after the gap, one that occurs twice the first pass.
    Raises ScheduleError for everything else, fractions of a second included.
    """
    if not _FORM.fullmatch(text):
        raise ScheduleError(f"{text[:40]!r} is not a date with a time of day; {_HINT}")
    try:
        read = datetime.fromisoformat(text.upper().replace(" +", "+").replace(" Z", "Z"))
    except ValueError:
        raise ScheduleError(f"{text[:40]!r} does not exist; {_HINT}") from None
    if read.tzinfo is None:
        instant = zone.first_reached(epoch_s(read.replace(tzinfo=UTC)))
    else:
        instant = epoch_s(read)
    if not FIRST_S <= instant <= LAST_S:
        raise ScheduleError(f"{text[:40]!r} lies outside the years 1 to 9999 of UTC; {_HINT}")
    return instant


def is_local(text: str) -> bool:
    """Return whether an instant that can be read has no offset, so that it is the zone's time."""
    match = _FORM.fullmatch(text)
    return match is not None and match["offset"] is None


def instant_problems(where: str, instant: datetime) -> list[Problem]:
    """Return its problems: it needs an offset from UTC, and a year from 1 to 9999 in UTC."""
    if instant.tzinfo is None:
        return [Problem(where, "has no offset from UTC; write 2026-12-01T00:00:00Z")]
    try:
        instant.astimezone(UTC)
    except OverflowError:
        return [Problem(where, "lies outside of the years 1 to 9999, in UTC")]
    return []
