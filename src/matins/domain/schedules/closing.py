"""The due times of a job that keeps to calendars: occurrences that are closed are skipped or moved.

A closed occurrence stays a due time, with a reason why it does not run; where it is moved to is a
due time more. So nothing that was due is ever silently missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone
from typing import Final

from matins.domain.calendars.closures import Closures
from matins.domain.errors import ScheduleError
from matins.domain.schedules.civil import DAY_S, FIRST_S, LAST_S
from matins.domain.schedules.rules import Rule
from matins.domain.schedules.schedule import OnClosed
from matins.domain.schedules.zones import Zone

MOVE_DAYS_MAX: Final = 31
"""How far an occurrence is moved at most, in days."""
DUE_PER_DAY_MAX: Final = 24
"""How often a job may be due in any 24 hours if its occurrences are to be moved."""

_WINDOW_DAYS: Final = MOVE_DAYS_MAX + 2  # wall times are kept, so that zones may add a day or two
_LOOKED_AT: Final = 2_000
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001  # the epoch of wall times


class ClosedRule:
    """A rule with calendars; it is closed when any of them is, open when all are.

    Days and wall times are those of the schedule's zone. With `next_business_day` (or `previous_…`)
    a closed occurrence is moved to its wall time on the nearest later (or earlier) day that is a
    business day for all calendars, and on which all are open at that time.
    """

    __slots__ = ("_base", "_closures", "_policy", "_zone")

    def __init__(
        self, base: Rule, closures: Sequence[Closures], policy: OnClosed, zone: Zone
    ) -> None:
        self._base = base
        self._closures = closures
        self._policy = policy
        self._zone = zone

    def next_after(self, instant: int) -> int | None:
        """Give the first due time strictly after an instant, be it moved or not.

        Raises ScheduleError if the base is due too often for its occurrences to be moved.
        """
        due = self._base.next_after(instant)
        if self._policy == "skip":
            return due
        if self._policy == "next_business_day":  # moved from what lies behind
            moved = self._moved_from(instant - _WINDOW_DAYS * DAY_S, instant)
        elif due is None:
            return None
        else:  # moved from what lies ahead, to before the next
            moved = self._moved_from(due, due + _WINDOW_DAYS * DAY_S)
        later = [it for it in moved if it > instant]
        return min(later if due is None else [due, *later], default=None)

    def previous_before(self, instant: int) -> int | None:
        """Give the last due time strictly before an instant, be it moved or not.

        Raises ScheduleError if the base is due too often for its occurrences to be moved.
        """
        due = self._base.previous_before(instant)
        if self._policy == "skip":
            return due
        if self._policy == "previous_business_day":
            moved = self._moved_from(instant, instant + _WINDOW_DAYS * DAY_S)
        elif due is None:
            return None
        else:
            moved = self._moved_from(due - _WINDOW_DAYS * DAY_S, due)
        earlier = [it for it in moved if it < instant]
        return max(earlier if due is None else [due, *earlier], default=None)

    def skip_reason(self, due: int) -> str:
        """Say why a due time does not run and where it was moved to; empty when it runs."""
        reason = self._closed(due)
        if not reason or self._policy == "skip":
            return reason
        moved = self._move(due)
        if moved is None:
            return f"{reason}; no business day within {MOVE_DAYS_MAX} days"
        return f"{reason}; moved to {self._shown(moved)}"

    def _closed(self, instant: int) -> str:
        """Say which calendar is closed at an instant, and why; empty when none is."""
        for closures in self._closures:
            label = closures.closed(instant)
            if label is not None:
                return f"calendar {closures.name}: {label}"
        return ""

    def _moved_from(self, first: int, last: int) -> Iterator[int]:
        """Give the instants to which the base's closed occurrences of a window are moved."""
        due = self._base.next_after(first - 1)
        count = 0
        while due is not None and due <= last:
            count += 1
            if count > (_WINDOW_DAYS + 1) * DUE_PER_DAY_MAX:
                raise ScheduleError(
                    f"is due more than {DUE_PER_DAY_MAX} times in a day, which can't be moved to"
                    " business days; write on_closed: skip"
                )
            if self._closed(due) and (moved := self._move(due)) is not None:
                yield moved
            due = self._base.next_after(due)

    def _move(self, due: int) -> int | None:
        """Give the instant to which a closed occurrence is moved; None if there is none."""
        wall = due + self._zone.offset_at(due)
        step = 1 if self._policy == "next_business_day" else -1
        for days in range(1, MOVE_DAYS_MAX + 1):
            target = wall + step * days * DAY_S
            day = target // DAY_S
            if all(closures.is_business_day(day) for closures in self._closures):
                instant = self._zone.first_reached(target)
                is_beyond = (instant - due) * step > 0  # but for a zone that repeats a whole day
                if is_beyond and FIRST_S <= instant <= LAST_S and not self._closed(instant):
                    return instant
        return None

    def _shown(self, instant: int) -> str:
        """Write an instant with the offset of the schedule's zone."""
        offset = timedelta(seconds=self._zone.offset_at(instant))
        shown = _EPOCH + timedelta(seconds=instant) + offset
        return shown.replace(tzinfo=timezone(offset)).isoformat()


def is_too_dense(base: Rule, from_: int) -> bool:
    """Tell whether a rule is due too often for its occurrences to be moved, as far as is looked.

    That is the first 2,000 due times after an instant.
    """
    recent: list[int] = []
    due = base.next_after(from_)
    for _ in range(_LOOKED_AT):
        if due is None:
            return False
        recent = [*recent[-DUE_PER_DAY_MAX:], due]
        if len(recent) > DUE_PER_DAY_MAX and due - recent[0] < DAY_S:
            return True
        due = base.next_after(due)
    return False
