"""A compiled schedule: when its job is due, and when each due time is fired."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from matins.domain.schedules.civil import DAY_S
from matins.domain.schedules.instants import epoch_s
from matins.domain.schedules.rules import Rule
from matins.domain.schedules.spread import stable_number

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Timetable:
    """The due times of one job: aware UTC instants, or whole seconds from 1970 UTC with `_s`.

    A rule is shared by all jobs with the same schedule; the seed and the jitter are the job's own.
    """

    __slots__ = ("_jitter_s", "_rule", "_seed")

    def __init__(self, rule: Rule, seed: str, jitter_s: int) -> None:
        self._rule = rule
        self._seed = seed
        self._jitter_s = jitter_s

    def next_after(self, instant: datetime) -> datetime | None:
        """Give the first due time strictly after an instant; None if there is none."""
        since = instant - _EPOCH  # epoch_s written out: the hottest call of all
        due = self._rule.next_after(since.days * DAY_S + since.seconds)
        return None if due is None else _EPOCH + timedelta(0, due)

    def next_after_s(self, instant: int) -> int | None:
        """Give the first due time strictly after an instant; None if there is none."""
        return self._rule.next_after(instant)

    def previous_before(self, instant: datetime) -> datetime | None:
        """Give the last due time strictly before an instant; None if there is none."""
        due = self._rule.previous_before(epoch_s(instant) + (instant.microsecond > 0))
        return None if due is None else _EPOCH + timedelta(seconds=due)

    def previous_before_s(self, instant: int) -> int | None:
        """Give the last due time strictly before an instant; None if there is none."""
        return self._rule.previous_before(instant)

    def fire_time(self, due: datetime) -> datetime:
        """Give the instant at which a due time is claimed: due plus jitter, before the next due."""
        return _EPOCH + timedelta(seconds=self.fire_time_s(epoch_s(due)))

    def fire_time_s(self, due: int) -> int:
        """Give the fire time of a due time, by a stable hash of the seed and the due time."""
        if self._jitter_s == 0:
            return due
        coming = self.next_after_s(due)
        latest = self._jitter_s if coming is None else min(self._jitter_s, coming - due - 1)
        return due + stable_number(latest + 1, self._seed, str(due))

    def due_between(self, after: datetime, until: datetime, limit: int) -> list[datetime]:
        """Give the first `limit` due times that are later than `after`, up to `until` included."""
        found: list[datetime] = []
        due, last = self.next_after_s(epoch_s(after)), epoch_s(until)
        while due is not None and due <= last and len(found) < limit:
            found.append(_EPOCH + timedelta(seconds=due))
            due = self.next_after_s(due)
        return found
