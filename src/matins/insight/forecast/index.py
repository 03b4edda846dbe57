"""The index of jobs: how many each team and pool has in each group, kept up to date job by job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from uuid import UUID

from matins.insight.forecast.groups import (
    AtGroup,
    Entry,
    EveryGroup,
    Group,
    Grouper,
    PhasedGroup,
    PlainGroup,
)

Segment = tuple[str, str]
"""A team and a pool."""

Counts = dict[int, int]
"""How many jobs there are, by phase or by anchor; never 0."""


class PlainCounter:
    """Counts the jobs of a segment in a group whose jobs are all alike."""

    __slots__ = ("count", "group", "segment")

    def __init__(self, segment: Segment, group: PlainGroup) -> None:
        self.segment = segment
        self.group = group
        self.count = 0


class PhasedCounter:
    """Counts the jobs of a segment in a group by phase.

    A step has no due times before its anchor: jobs that have not begun are counted in `pending`, by
    anchor, and not in `phases`.
    """

    __slots__ = ("count", "group", "pending", "phases", "segment")

    def __init__(self, segment: Segment, group: PhasedGroup) -> None:
        self.segment = segment
        self.group = group
        self.count = 0
        self.phases: Counts = {}
        self.pending: Counts = {}

    def add(self, anchor: int, since: int) -> None:
        """Count one more job with an anchor. Nobody asks for what was before `since`."""
        if self._is_pending(anchor, since):
            _change(self.pending, anchor, 1)
        else:
            _change(self.phases, self.group.phase(anchor), 1)

    def remove(self, anchor: int) -> None:
        """Count one job less with an anchor."""
        if anchor in self.pending:
            _change(self.pending, anchor, -1)
        else:
            _change(self.phases, self.group.phase(anchor), -1)

    def advance(self, since: int) -> None:
        """Count by phase what has begun, as nobody asks for what was before `since` any more."""
        begun = [anchor for anchor in self.pending if not self._is_pending(anchor, since)]
        for anchor in begun:
            _change(self.phases, self.group.phase(anchor), self.pending.pop(anchor))

    def _is_pending(self, anchor: int, since: int) -> bool:
        """Return whether fires before an anchor, of which there are none, could reach `since`."""
        group = self.group
        return isinstance(group, EveryGroup) and anchor >= since - group.spread_s


Counter = PlainCounter | PhasedCounter


class JobIndex:
    """Counts jobs by team, pool and group. Nobody may ask for what was before `since`, in whole
    seconds from 1970 UTC.
    """

    def __init__(self, since: int) -> None:
        self._since = since
        self._grouper = Grouper()
        self._segments: dict[Segment, dict[Group, Counter]] = {}
        # By the id as a number, which takes half the memory.
        self._counters: dict[int, Counter] = {}
        self._anchors: dict[int, int] = {}
        self._pending: set[PhasedCounter] = set()

    def __len__(self) -> int:
        return len(self._counters)

    def add(self, entry: Entry) -> bool:
        """Add a job, in place of its entry before; return whether any fires may have changed.

        Raises ScheduleError, and changes nothing, if the schedule can't be compiled.
        """
        group, anchor = self._grouper.group(entry)
        segment, key = (entry.team, entry.pool), entry.id.int
        known = self._counters.get(key)
        if known is not None:
            if (known.segment, known.group, self._anchors.get(key, 0)) == (segment, group, anchor):
                return False
            self.remove(entry.id)
        counter = self._counters[key] = self._counter(segment, group)
        counter.count += 1
        if isinstance(counter, PhasedCounter):
            self._anchors[key] = anchor
            counter.add(anchor, self._since)
            if counter.pending:
                self._pending.add(counter)
        return True

    def remove(self, job_id: UUID) -> bool:
        """Remove a job; return whether it was in the index."""
        key = job_id.int
        counter = self._counters.pop(key, None)
        if counter is None:
            return False
        counter.count -= 1
        if isinstance(counter, PhasedCounter):
            counter.remove(self._anchors.pop(key))
        if counter.count == 0:
            counters = self._segments[counter.segment]
            del counters[counter.group]
            if not counters:
                del self._segments[counter.segment]
        return True

    def advance(self, since: int) -> None:
        """Forget what only those need who ask for what was before `since`: nobody will."""
        self._since = since
        for counter in self._pending:
            counter.advance(since)
        self._pending = {counter for counter in self._pending if counter.pending}

    def segments(self, team: str | None = None, pool: str | None = None) -> list[Segment]:
        """Return the teams and pools that have jobs, of one team or pool or of all."""
        return [
            (its_team, its_pool)
            for its_team, its_pool in self._segments
            if team in {None, its_team} and pool in {None, its_pool}
        ]

    def counters(self, segments: Iterable[Segment] | None = None) -> Iterator[Counter]:
        """Return the counters of some segments, or of all."""
        for segment in self._segments if segments is None else segments:
            yield from self._segments[segment].values()

    def _counter(self, segment: Segment, group: Group) -> Counter:
        counters = self._segments.setdefault(segment, {})
        counter = counters.get(group)
        if counter is None:
            if isinstance(group, EveryGroup | AtGroup):
                counter = PhasedCounter(segment, group)
            else:
                counter = PlainCounter(segment, group)
            counters[group] = counter
        return counter


def _change(counts: Counts, key: int, by: int) -> None:
    count = counts.get(key, 0) + by
    if count:
        counts[key] = count
    else:
        del counts[key]
