"""What the row of a job says of its future."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from matins.domain.timetables.timetable import Timetable


class NextDue(NamedTuple):
    """What of a job is claimed next, and when; nothing if all is None.

    A job that follows the ends of its runs waits for that of the run due at `follows`, which may be
    its next due time.
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
