"""Lays loads out over a window: each once, by hours or steps that repeat, not fire by fire."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from matins.domain.schedules.cron.days import Days
from matins.domain.time.civil import DAY_S
from matins.domain.time.zones import Zone
from matins.insight.forecast.dials import HOUR_S
from matins.insight.forecast.loads import (
    AtLoad,
    CronLoad,
    EveryLoad,
    FlatLoad,
    SharedLoad,
    WalkedLoad,
)
from matins.insight.forecast.parts import (
    ORIGIN,
    Longer,
    Mark,
    Part,
    Starts,
    alike,
    blurred,
    single,
)
from matins.insight.forecast.stretches import Plain, Stretches, stretches
from matins.insight.forecast.tallies import PhasedTally, Tally
from matins.insight.forecast.walks import WALKED_ALONE_MAX, fires_of, walk, walk_some

LEADS_S: Final = (0, HOUR_S, DAY_S, 7 * DAY_S, 31 * DAY_S)
"""How long before a window due times are looked at, whose jitter may reach into it: the first that
is enough, or the last. Few values, so that many loads share their starts.
"""

KEPT_MAX: Final = 1_000
"""What may be a single job's is walked again and again, rather than that more is kept of it."""

STEPS_S: Final = (HOUR_S, DAY_S)
"""The steps in which shorter ones are painted that divide them."""


class Layouts:
    """The parts of loads in the window from `since` to `until` (exclusive), made when asked for.

    They may reach beyond it at either end.
    """

    def __init__(self, since: int, until: int) -> None:
        self.since = since
        self.until = until
        self._parts: dict[SharedLoad, list[Part]] = {}
        self._fires: dict[SharedLoad, int] = {}
        self._stretches: dict[tuple[Zone, int], Stretches] = {}
        self._hours: dict[tuple[Plain, tuple[int, ...], tuple[int, ...]], Starts] = {}
        self._steps: dict[tuple[int, int], Starts] = {}
        self._starts: dict[tuple[int, ...], Starts] = {}

    def phased(self, tally: PhasedTally) -> list[Part]:
        """Give the parts of all jobs of a tally."""
        match tally.load:
            case EveryLoad() as load:
                return self._every(load, tally)
            case AtLoad(jitter_s):
                return alike(ORIGIN, tally.phases.items(), jitter_s + 1)

    def shared(self, load: SharedLoad) -> list[Part]:
        """Give the parts of one job under a load whose jobs are all alike."""
        found = self._parts.get(load)
        if found is None:
            match load:
                case CronLoad():
                    found = self._cron(load)
                case FlatLoad():
                    found = self._flat(load)
                case WalkedLoad():
                    found = self._walked(load)
            size = sum(len(part.marks) for part in found)
            if size <= KEPT_MAX or not isinstance(load, WalkedLoad):
                self._parts[load] = found
        return found

    def about(self, tally: Tally) -> float:
        """Give about how many fires a tally has in the window: its ends are not looked at."""
        if isinstance(tally.load, EveryLoad | FlatLoad):
            return tally.count * (self.until - self.since) / tally.load.step_s
        if isinstance(tally, PhasedTally):
            ats = tally.phases.items()
            return sum(count for at, count in ats if self.since <= at < self.until)
        found = self._fires.get(tally.load)
        if found is None:
            parts = self.shared(tally.load)
            found = self._fires[tally.load] = sum(part.about for part in parts)
        return found * tally.count

    def _flat(self, load: FlatLoad) -> list[Part]:
        rate = 1 / load.step_s
        ends = [(max(load.first, self.since), rate), (max(load.last + 1, self.since), -rate)]
        return [Part(ORIGIN, ends, is_rate=True)]

    def _walked(self, load: WalkedLoad) -> list[Part]:
        # Jitter never reaches the next due time: only the last before the window reaches into it.
        table = load.timetable
        before = table.previous_before_s(self.since) if load.jitter_s else None
        since = self.since if before is None else before
        dues, due = walk_some(table.next_after_s, since, self.until, WALKED_ALONE_MAX)
        if due is not None and due < self.until:
            return blurred([it for it in dues if not table.skip_reason(it)], due, self.until)
        fires = fires_of(dues, due, load.jitter_s)
        return single(ORIGIN, (fire for fire in fires if not table.skip_reason(fire[0])))

    def _cron(self, load: CronLoad) -> list[Part]:
        since, jitter_s = self.since - _lead(load.jitter_s + 1), load.jitter_s
        following = load.rule.next_after
        if since < load.first or load.last < self.until:
            low, high = max(since, load.first), min(self.until, load.last + 1)
            return single(ORIGIN, walk(following, low, high, jitter_s))
        found = list[Part]()
        divided = self._divided(load.zone, since)
        for plain in divided.plain:
            starts = self._hours_of(load, plain)
            found += self._hourly(load, starts) if starts.instants else ()
        for low, high in divided.odd:
            found += single(ORIGIN, walk(following, low, high, jitter_s))
        return found

    def _hourly(self, load: CronLoad, starts: Starts) -> list[Part]:
        """Give what is due in each of the hours that match."""
        in_hour, jitter_s = load.dial.seconds, load.jitter_s
        if jitter_s == 0:
            return [Part(starts, [(second, 1) for second in in_hour])]
        fires = [
            (second, min(jitter_s + 1, coming - second)) for second, coming in pairwise(in_hour)
        ]
        first, last = in_hour[0], in_hour[-1]
        if jitter_s < HOUR_S + first - last:
            return single(starts, [*fires, (last, jitter_s + 1)])
        # How far the last one of an hour may be put off depends on when the next hour comes.
        by_length = defaultdict[int, list[int]](list)
        for start in starts.instants:
            due = start + last
            coming = load.rule.next_after(due)
            length = jitter_s + 1 if coming is None else min(jitter_s + 1, coming - due)
            by_length[length].append(start)
        found = single(starts, fires)
        for length, some in by_length.items():
            found += single(self._shared(tuple(some)), [(last, length)])
        return found

    def _every(self, load: EveryLoad, tally: PhasedTally) -> list[Part]:
        step_s, length = load.step_s, min(load.jitter_s + 1, load.step_s)
        since = self.since - _lead(length)
        offset = 0 if load.zone is None else load.zone.offset_at(since)
        is_even = load.zone is None or not self._divided(load.zone, since).odd
        if is_even and load.first <= since and self.until <= load.last:
            starts = self._steps_of(since, step_s, offset)
            found = alike(starts, tally.phases.items(), length)
        else:
            fires = [
                (due, count)
                for phase, count in tally.phases.items()
                for due in self._dues(load, phase, since)
            ]
            found = alike(ORIGIN, fires, length)
        if tally.later:
            found += alike(ORIGIN, self._not_yet(load, tally, since), length)
        return found

    def _dues(self, load: EveryLoad, phase: int, since: int) -> Iterator[int]:
        """Give the due times of a phase, one by one."""
        zone, step_s = load.zone, load.step_s
        wall = since if zone is None else since + zone.offset_at(since)
        wall = (wall // step_s - 1) * step_s + phase
        until = min(self.until, load.last + 1)
        while (due := wall if zone is None else zone.first_reached(wall)) < until:
            if due >= since and due >= load.first:
                yield due
            wall += step_s

    def _not_yet(self, load: EveryLoad, tally: PhasedTally, since: int) -> list[Mark]:
        """Take away what lies before the anchors of jobs that have not begun."""
        found = list[Mark]()
        for anchor, count in tally.later.items():
            dues = self._dues(load, load.phase(anchor), since)
            found += [(due, -count) for due in dues if due <= anchor]
            if load.first <= anchor <= load.last and since <= anchor:
                found.append((anchor, count))
        return found

    def _divided(self, zone: Zone, since: int) -> Stretches:
        found = self._stretches.get((zone, since))
        if found is None:
            found = stretches(zone, since, self.until)
            self._stretches[zone, since] = found
        return found

    def _hours_of(self, load: CronLoad, plain: Plain) -> Starts:
        """Give the starts of the hours that match, among whole local hours."""
        first, last = ((at + plain.offset) // DAY_S for at in (plain.start, plain.end - 1))
        days = tuple(_days_between(load.days, first, last))
        key = plain, days, load.dial.hours
        found = self._hours.get(key)
        if found is None:
            hours = [hour * HOUR_S for hour in load.dial.hours]
            starts = [day * DAY_S + hour - plain.offset for day in days for hour in hours]
            within = tuple([it for it in starts if plain.start <= it < plain.end])
            found = self._hours[key] = self._shared(within)
        return found

    def _steps_of(self, since: int, step_s: int, offset: int) -> Starts:
        """Give the starts of a step, in wall time of an offset."""
        first = (since + offset) // step_s * step_s - offset
        found = self._steps.get((first, step_s))
        if found is None:
            instants = range(first, self.until, step_s)
            longer = next((step for step in STEPS_S if step % step_s == 0), step_s)
            if longer == step_s:
                found = self._shared(tuple(instants))
            else:
                starts = self._steps_of(since, longer, offset)
                found = Starts(instants, Longer(starts, range(0, longer, step_s)))
            self._steps[first, step_s] = found
        return found

    def _shared(self, instants: tuple[int, ...]) -> Starts:
        found = self._starts.get(instants)
        if found is None:
            found = self._starts[instants] = Starts(instants)
        return found


def _days_between(days: Days, first: int, last: int) -> Iterable[int]:
    if days.every:
        return range(first, last + 1)
    found = list[int]()
    day = days.next(first)
    while day is not None and day <= last:
        found.append(day)
        day = days.next(day + 1)
    return found


def _lead(length: int) -> int:
    """Give how long before a window to look for fires that are spread over so many seconds."""
    return next((lead for lead in LEADS_S if length - 1 <= lead), LEADS_S[-1])
