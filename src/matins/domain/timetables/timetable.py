"""A compiled schedule: when its job is due, and when each due time is fired."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from matins.domain.schedules.after_end import AfterEnd
from matins.domain.schedules.parsed import NO_JITTER, Jitter
from matins.domain.schedules.rules import Rule
from matins.domain.time.civil import DAY_S, FIRST_S, LAST_S
from matins.domain.time.instants import epoch_s
from matins.domain.values.hashing import stable_number

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Timetable:
    """The due times of one job: aware UTC instants, or whole seconds from 1970 UTC with `_s`.

    A rule is shared by all jobs with the same schedule; the seed and the jitter are the job's own.
    `following` gives the due times that depend on ends of runs, `reason` those that do not run.
    """

    __slots__ = ("_jitter", "_reason", "_rule", "_seed", "following")

    def __init__(
        self,
        rule: Rule,
        seed: str,
        jitter: Jitter = NO_JITTER,
        *,
        reason: Callable[[int], str] | None = None,
        following: AfterEnd | None = None,
    ) -> None:
        self._rule = rule
        self._seed = seed
        self._jitter = jitter
        self._reason = reason
        self.following = following

    def next_after(self, instant: datetime) -> datetime | None:
        """Return the first due time strictly after an instant; None if there is none."""
        since = instant - _EPOCH  # epoch_s and max() written out: the hottest call of all
        second = since.days * DAY_S + since.seconds
        due = self._rule.next_after(second if second >= FIRST_S else FIRST_S - 1)
        return None if due is None else _EPOCH + timedelta(0, due)

    def next_after_s(self, instant: int) -> int | None:
        """Return the first due time strictly after an instant; None if there is none."""
        return self._rule.next_after(instant)

    def previous_before(self, instant: datetime) -> datetime | None:
        """Return the last due time strictly before an instant; None if there is none."""
        whole = epoch_s(instant) + (instant.microsecond > 0)
        due = self.previous_before_s(whole)
        return None if due is None else _EPOCH + timedelta(seconds=due)

    def previous_before_s(self, instant: int) -> int | None:
        """Return the last due time strictly before an instant; None if there is none."""
        return self._rule.previous_before(min(instant, LAST_S + 1))

    def next_after_end(self, ended: datetime, run_count: int = 0) -> datetime | None:
        """Return the due time that follows the end of a run; None unless the job follows ends.

        It is never earlier than the delay after the end: a fraction of a second counts as a whole
        one. `run_count` is how many due times there were since the schedule was set.
        """
        if self.following is None:
            return None
        whole = epoch_s(ended) + (ended.microsecond > 0)
        due = self.following.next_after_end(whole, run_count)
        return None if due is None else _EPOCH + timedelta(0, due)

    def skip_reason(self, due: int) -> str:
        """Return why a due time does not run; empty when it does."""
        return "" if self._reason is None else self._reason(due)

    def fire_time(self, due: datetime) -> datetime:
        """Return when a due time is claimed: due plus jitter, before the next due time."""
        return _EPOCH + timedelta(seconds=self.fire_time_s(epoch_s(due)))

    def fire_time_s(self, due: int) -> int:
        """Return the fire time of a due time, by a stable hash of the seed and the due time."""
        jitter = self._jitter
        if jitter.longest_s == 0 or self.skip_reason(due):
            return due
        coming = self.next_after_s(due)
        latest = jitter.longest_s if coming is None else min(jitter.longest_s, coming - due - 1)
        latest = max(0, min(latest, jitter.last - due))
        if jitter.by_job:
            return due + min(latest, stable_number(jitter.longest_s + 1, self._seed))
        return due + stable_number(latest + 1, self._seed, str(due))

    def due_between(self, after: datetime, until: datetime, limit: int) -> list[datetime]:
        """Return the first `limit` due times later than `after`, up to `until` included."""
        dues: list[datetime] = []
        due, last = self.next_after_s(epoch_s(after)), epoch_s(until)
        while due is not None and due <= last and len(dues) < limit:
            dues.append(_EPOCH + timedelta(seconds=due))
            due = self.next_after_s(due)
        return dues
