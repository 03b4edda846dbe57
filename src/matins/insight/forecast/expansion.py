"""Expands groups of jobs to their fires over a range of time: each group once, by hours or steps
that repeat, not fire by fire.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from matins.domain.schedules.cron.days import Days
from matins.domain.time.civil import DAY_S
from matins.domain.time.zones import Zone
from matins.insight.forecast.groups import (
    HOUR_S,
    AtGroup,
    CronGroup,
    EveryGroup,
    PhasedGroup,
    PlainGroup,
    RateGroup,
    TimetableGroup,
)
from matins.insight.forecast.index import Counter, Counts, PhasedCounter
from matins.insight.forecast.series import (
    ORIGIN,
    Curve,
    Histogram,
    Point,
    Series,
    Starts,
    blurred,
    enumerate_dues,
    enumerate_fires,
    fires_of,
    spread_alike,
    spread_each,
)
from matins.insight.forecast.zone_intervals import Steady, ZoneIntervals, zone_intervals

LEADS_S: Final = (0, HOUR_S, DAY_S, 7 * DAY_S, 31 * DAY_S)
"""How long before a range due times are looked at, whose jitter may reach into it: the first that
is enough, or the last. Few values, so that many groups share their starts.
"""

TIMETABLE_DUES_MAX: Final = 5_000
"""The most due times that are enumerated for what may be a single job."""

KEPT_MAX: Final = 1_000
"""What may be a single job's is enumerated again and again, rather than that more is kept of it."""

PERIODS_S: Final = (HOUR_S, DAY_S)
"""Steps that divide one of these are expanded within it, so that they share its starts."""


class LoadExpansion:
    """The fires of groups in the range from `since` to `until` (exclusive), made when asked for.

    Series may reach beyond it at either end.
    """

    def __init__(self, since: int, until: int) -> None:
        self.since = since
        self.until = until
        self._series: dict[PlainGroup, list[Series]] = {}
        self._estimates: dict[PlainGroup, int] = {}
        self._intervals: dict[tuple[Zone, int], ZoneIntervals] = {}
        self._hours: dict[tuple[Steady, tuple[int, ...], tuple[int, ...]], Starts] = {}
        self._starts: dict[tuple[int, ...], Starts] = {}

    def curve(self, counters: Iterable[Counter]) -> Curve:
        """Return the fires of some counters."""
        return self._histogram(counters).curve()

    def minutes(self, counters: Iterable[Counter]) -> list[float]:
        """Return the fires of some counters in each minute: much less work."""
        return self._histogram(counters).minutes()

    def estimate(self, counter: Counter) -> float:
        """Return about how many fires a counter has in the range: its ends are not looked at."""
        group = counter.group
        if isinstance(group, EveryGroup | RateGroup):
            return counter.count * (self.until - self.since) / group.step_s
        if isinstance(counter, PhasedCounter):
            ats = counter.phases.items()
            return sum(count for at, count in ats if self.since <= at < self.until)
        estimate = self._estimates.get(counter.group)
        if estimate is None:
            series = self._plain(counter.group)
            estimate = self._estimates[counter.group] = sum(part.estimate for part in series)
        return estimate * counter.count

    def _histogram(self, counters: Iterable[Counter]) -> Histogram:
        """Add up counters by group, then expand each group once."""
        plain: dict[PlainGroup, int] = {}
        phased: dict[PhasedGroup, tuple[Counts, Counts]] = {}
        for counter in counters:
            if isinstance(counter, PhasedCounter):
                phases, pending = phased.setdefault(counter.group, ({}, {}))
                _add_up(phases, counter.phases)
                _add_up(pending, counter.pending)
            else:
                plain[counter.group] = plain.get(counter.group, 0) + counter.count
        histogram = Histogram(self.since, self.until)
        for group, count in plain.items():
            for series in self._plain(group):
                histogram.add(series, count)
        for phased_group, (phases, pending) in phased.items():
            for series in self._phased(phased_group, phases, pending):
                histogram.add(series)
        return histogram

    def _phased(self, group: PhasedGroup, phases: Counts, pending: Counts) -> list[Series]:
        """Return the series of all jobs of a group with phases."""
        match group:
            case EveryGroup():
                return [self._every(group, phases), self._every_pending(group, pending)]
            case AtGroup(jitter_s):
                return [spread_alike(ORIGIN, phases.items(), jitter_s + 1)]

    def _plain(self, group: PlainGroup) -> list[Series]:
        """Return the series of one job of a group whose jobs are all alike."""
        series = self._series.get(group)
        if series is None:
            match group:
                case CronGroup():
                    series = self._cron(group)
                case RateGroup():
                    series = [self._rate(group)]
                case TimetableGroup():
                    series = self._timetable(group)
            size = sum(len(part.points) for part in series)
            if size <= KEPT_MAX or not isinstance(group, TimetableGroup):
                self._series[group] = series
        return series

    def _rate(self, group: RateGroup) -> Series:
        rate = 1 / group.step_s
        ends = [(max(group.first, self.since), rate), (max(group.last + 1, self.since), -rate)]
        return Series(ORIGIN, ends, is_rate=True)

    def _timetable(self, group: TimetableGroup) -> list[Series]:
        # Jitter never reaches the next due time: only the last before the range reaches into it.
        table = group.timetable
        before = table.previous_before_s(self.since) if group.jitter_s else None
        since = self.since if before is None else before
        dues, following = enumerate_dues(table.next_after_s, since, self.until, TIMETABLE_DUES_MAX)
        if following is not None and following < self.until:
            return [
                blurred([due for due in dues if not table.skip_reason(due)], following, self.until)
            ]
        fires = fires_of(dues, following, group.jitter_s)
        return spread_each(ORIGIN, (fire for fire in fires if not table.skip_reason(fire[0])))

    def _cron(self, group: CronGroup) -> list[Series]:
        since, jitter_s = self.since - _lead(group.jitter_s + 1), group.jitter_s
        next_after = group.rule.next_after
        if since < group.first or group.last < self.until:
            low, high = max(since, group.first), min(self.until, group.last + 1)
            return spread_each(ORIGIN, enumerate_fires(next_after, low, high, jitter_s))
        intervals = self._intervals_of(group.zone, since)
        series = list[Series]()
        for steady in intervals.steady:
            starts = self._hours_of(group, steady)
            if starts.instants:
                series += self._hourly(group, starts)
        for low, high in intervals.changing:
            series += spread_each(ORIGIN, enumerate_fires(next_after, low, high, jitter_s))
        return series

    def _hourly(self, group: CronGroup, starts: Starts) -> list[Series]:
        """Return what is due in each of the hours that match."""
        in_hour, jitter_s = group.shape.seconds, group.jitter_s
        if jitter_s == 0:
            return [Series(starts, [(second, 1) for second in in_hour])]
        fires = [
            (second, min(jitter_s + 1, coming - second)) for second, coming in pairwise(in_hour)
        ]
        first, last = in_hour[0], in_hour[-1]
        if jitter_s < HOUR_S + first - last:
            return spread_each(starts, [*fires, (last, jitter_s + 1)])
        # How far the last one of an hour may be put off depends on when the next hour comes.
        by_spread = defaultdict[int, list[int]](list)
        for start in starts.instants:
            due = start + last
            coming = group.rule.next_after(due)
            spread_s = jitter_s + 1 if coming is None else min(jitter_s + 1, coming - due)
            by_spread[spread_s].append(start)
        series = spread_each(starts, fires)
        for spread_s, some in by_spread.items():
            series += spread_each(self._shared(tuple(some)), [(last, spread_s)])
        return series

    def _hours_of(self, group: CronGroup, steady: Steady) -> Starts:
        """Return the starts of the hours that match, among whole local hours."""
        first, last = ((at + steady.offset) // DAY_S for at in (steady.start, steady.end - 1))
        days = tuple(_days_between(group.days, first, last))
        key = steady, days, group.shape.hours
        starts = self._hours.get(key)
        if starts is None:
            hours = [hour * HOUR_S for hour in group.shape.hours]
            instants = [day * DAY_S + hour - steady.offset for day in days for hour in hours]
            within = tuple([at for at in instants if steady.start <= at < steady.end])
            starts = self._hours[key] = self._shared(within)
        return starts

    def _every(self, group: EveryGroup, phases: Counts) -> Series:
        """Return the fires of jobs that have begun."""
        since = self.since - _lead(group.spread_s)
        zone, step_s = group.zone, group.step_s
        is_even = zone is None or not self._intervals_of(zone, since).changing
        if is_even and group.first <= since and self.until <= group.last:
            offset = 0 if zone is None else zone.offset_at(since)
            period = next((length for length in PERIODS_S if length % step_s == 0), step_s)
            first = (since + offset) // period * period - offset
            starts = self._shared(tuple(range(first, self.until, period)))
            points: list[Point] = [
                (moved + phase, count)
                for moved in range(0, period, step_s)
                for phase, count in phases.items()
            ]
            return spread_alike(starts, points, group.spread_s)
        fires = [
            (due, count)
            for phase, count in phases.items()
            for due in self._due_times(group, phase, since)
        ]
        return spread_alike(ORIGIN, fires, group.spread_s)

    def _every_pending(self, group: EveryGroup, pending: Counts) -> Series:
        """Return the fires of jobs that have not begun: from their anchors on."""
        fires = list[Point]()
        for anchor, count in pending.items():
            if group.first <= anchor <= group.last:
                fires.append((anchor, count))
            dues = self._due_times(group, group.phase(anchor), anchor)
            fires += [(due, count) for due in dues if due > anchor]
        return spread_alike(ORIGIN, fires, group.spread_s)

    def _due_times(self, group: EveryGroup, phase: int, since: int) -> Iterator[int]:
        """Return the due times of a phase from `since` on, one by one."""
        zone, step_s = group.zone, group.step_s
        wall = since if zone is None else since + zone.offset_at(since)
        wall = (wall // step_s - 1) * step_s + phase
        until = min(self.until, group.last + 1)
        while (due := wall if zone is None else zone.first_reached(wall)) < until:
            if due >= since and due >= group.first:
                yield due
            wall += step_s

    def _intervals_of(self, zone: Zone, since: int) -> ZoneIntervals:
        intervals = self._intervals.get((zone, since))
        if intervals is None:
            intervals = self._intervals[zone, since] = zone_intervals(zone, since, self.until)
        return intervals

    def _shared(self, instants: tuple[int, ...]) -> Starts:
        """Return the one object for these starts, so that what shares them is added up together."""
        return self._starts.setdefault(instants, Starts(instants))


def _add_up(total: Counts, counts: Counts) -> None:
    for key, count in counts.items():
        total[key] = total.get(key, 0) + count


def _days_between(days: Days, first: int, last: int) -> Iterable[int]:
    if days.every:
        return range(first, last + 1)
    chosen = list[int]()
    day = days.next(first)
    while day is not None and day <= last:
        chosen.append(day)
        day = days.next(day + 1)
    return chosen


def _lead(spread_s: int) -> int:
    """Return how long before a range to look for fires that are spread over so many seconds."""
    return next((lead for lead in LEADS_S if spread_s - 1 <= lead), LEADS_S[-1])
