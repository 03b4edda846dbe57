"""What the row of a job says of its future."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from matins.domain.timetables.timetable import Timetable

INSTANT: Final = timedelta(microseconds=1)
"""A chain that begins is due after the instant at which it does."""


class NextDue(NamedTuple):
    """What of a job is claimed next, and when; nothing if all is None.

    A job that follows the ends of its runs waits for that of the run due at `follows`, which may be
    its next due time. Of a chain, `follows` is from when on rows of the job that leads it may be
    without an answer.
    """

    due_at: datetime | None = None
    fire_at: datetime | None = None
    follows: datetime | None = None


def next_due(timetable: Timetable | None, due: datetime | None) -> NextDue:
    """Return what a job's row says when `due` is claimed next; None: nothing is."""
    if timetable is None or due is None:
        return NextDue()
    follows = None if timetable.following is None else due
    return NextDue(due, timetable.fire_time(due), follows)


def chain_from(now: datetime, *older: datetime | None) -> NextDue:
    """Return where a chain stands that begins now, or goes on from what is `older`."""
    return NextDue(follows=min([now + INSTANT, *(at for at in older if at is not None)]))
