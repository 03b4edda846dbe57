"""The due times of a job that keeps to calendars: occurrences that are closed are skipped or moved.

A closed occurrence stays a due time, with a reason why it does not run; where it is moved to is a
due time more. So nothing that was due is ever silently missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from matins.domain.calendars.compiled import CompiledCalendar
from matins.domain.schedules.rules import Rule
from matins.domain.schedules.schedule import OnClosed
from matins.domain.time.civil import DAY_S, FIRST_S, LAST_S
from matins.domain.time.instants import local_time
from matins.domain.time.zones import Zone
from matins.domain.values.errors import ScheduleError

MOVE_DAYS_MAX: Final = 31
"""How far an occurrence is moved at most, in days."""
DUE_PER_DAY_MAX: Final = 24
"""How often a job may be due in any 24 hours if its occurrences are to be moved."""

_WINDOW_S: Final = (MOVE_DAYS_MAX + 2) * DAY_S  # wall times are kept: zones may add a day or two
_BLOCK_S: Final = 32 * DAY_S
_BLOCKS_KEPT: Final = 4
_SOURCES_MAX: Final = (_WINDOW_S + _BLOCK_S + DAY_S) // DAY_S * DUE_PER_DAY_MAX
_LOOKED_AT: Final = 2_000


class CalendarRule:
    """A rule with calendars; it is closed when any of them is, open when all are.

    Days and wall times are those of the schedule's zone. With `next_business_day` (or `previous_…`)
    a closed occurrence is moved to its wall time on the nearest later (or earlier) day that is a
    business day for all calendars, and on which all are open at that time.
    """

    __slots__ = ("_base", "_blocks", "_closures", "_policy", "_zone")

    def __init__(
        self, base: Rule, closures: Sequence[CompiledCalendar], policy: OnClosed, zone: Zone
    ) -> None:
        self._base = base
        self._closures = closures
        self._policy = policy
        self._zone = zone
        self._blocks: dict[int, list[int]] = {}

    def next_after(self, instant: int) -> int | None:
        """Return the first due time strictly after an instant, be it moved or not.

        Raises ScheduleError if the base is due too often for its occurrences to be moved.
        """
        due = self._base.next_after(instant)
        if self._policy == "next_business_day":  # what was due before may have been moved past it
            last = instant + _WINDOW_S
            return self._first_of(instant + 1, last if due is None else min(due, last), due)
        if self._policy == "previous_business_day" and due is not None:
            return self._first_of(max(instant + 1, due - _WINDOW_S), due, due)
        return due

    def previous_before(self, instant: int) -> int | None:
        """Return the last due time strictly before an instant, be it moved or not.

        Raises ScheduleError if the base is due too often for its occurrences to be moved.
        """
        due = self._base.previous_before(instant)
        if self._policy == "previous_business_day":
            first = instant - _WINDOW_S
            return self._last_of(first if due is None else max(due, first), instant - 1, due)
        if self._policy == "next_business_day" and due is not None:
            return self._last_of(due, min(instant - 1, due + _WINDOW_S), due)
        return due

    def skip_reason(self, due: int) -> str:
        """Return why a due time does not run and where it was moved to; empty when it runs."""
        reason = self._closed(due)
        if not reason or self._policy == "skip":
            return reason
        moved = self._move(due, {})
        if moved is None:
            return f"{reason}; no business day within {MOVE_DAYS_MAX} days"
        return f"{reason}; moved to {self._shown(moved)}"

    def _closed(self, instant: int) -> str:
        """Return which calendar is closed at an instant, and why; empty when none is."""
        for closures in self._closures:
            label = closures.closed(instant)
            if label is not None:
                return f"calendar {closures.name}: {label}"
        return ""

    def _first_of(self, first: int, last: int, due: int | None) -> int | None:
        """Return the first instant of a window to which something is moved; `due` if none is."""
        return min(self._moved(first, last), default=due)

    def _last_of(self, first: int, last: int, due: int | None) -> int | None:
        return max(self._moved(first, last), default=due)

    def _moved(self, first: int, last: int) -> list[int]:
        """Return the instants from one to another to which occurrences are moved."""
        blocks = range(first // _BLOCK_S, last // _BLOCK_S + 1)
        return [due for number in blocks for due in self._block(number) if first <= due <= last]

    def _block(self, number: int) -> list[int]:
        """Return all instants of a block of days to which occurrences are moved; blocks are
        kept.
        """
        dues = self._blocks.get(number)
        if dues is None:
            if len(self._blocks) >= _BLOCKS_KEPT:
                self._blocks.clear()
            first, last = number * _BLOCK_S, (number + 1) * _BLOCK_S - 1
            targets: dict[int, int | None] = {}
            moved = (self._move(due, targets) for due in self._closed_between(first, last))
            dues = sorted({due for due in moved if due is not None and first <= due <= last})
            self._blocks[number] = dues
        return dues

    def _closed_between(self, first: int, last: int) -> Iterator[int]:
        """Yield the closed occurrences that may be moved to between two instants."""
        if self._policy == "next_business_day":
            first -= _WINDOW_S
        else:
            last += _WINDOW_S
        due = self._base.next_after(first - 1)
        count = 0
        while due is not None and due <= last:
            count += 1
            if count > _SOURCES_MAX:
                raise ScheduleError(
                    f"is due more than {DUE_PER_DAY_MAX} times in a day, which can't be moved to"
                    " business days; write on_closed: skip"
                )
            if self._closed(due):
                yield due
            due = self._base.next_after(due)

    def _move(self, due: int, targets: dict[int, int | None]) -> int | None:
        """Return the instant to which a closed occurrence is moved; None if there is none.

        `targets` remembers what is known of wall times from one occurrence to the next.
        """
        wall = due + self._zone.offset_at(due)
        step = DAY_S if self._policy == "next_business_day" else -DAY_S
        for target in range(wall + step, wall + (MOVE_DAYS_MAX + 1) * step, step):
            if target not in targets:
                targets[target] = self._open_target(target)
            instant = targets[target]
            # A zone that repeats a whole day could lead back.
            if instant is not None and (instant - due) * step > 0:
                return instant
        return None

    def _open_target(self, wall: int) -> int | None:
        """Return the instant of a wall time if it is open on a business day."""
        if not all(closures.is_business_day(wall // DAY_S) for closures in self._closures):
            return None
        instant = self._zone.first_reached(wall)
        return None if self._closed(instant) or not FIRST_S <= instant <= LAST_S else instant

    def _shown(self, instant: int) -> str:
        """Write an instant with the offset of the schedule's zone."""
        return local_time(instant, self._zone.offset_at(instant)).isoformat()


def is_too_dense(base: Rule, from_: int) -> bool:
    """Return whether a rule is due too often for its occurrences to be moved, as far as is looked.

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
