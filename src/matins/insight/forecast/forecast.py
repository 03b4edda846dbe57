"""The forecast: what the coming hours hold, when most, whose it is, and where a quiet minute is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from matins.domain.time.instants import instant_of
from matins.domain.time.zones import Zone
from matins.insight.forecast.expansion import LoadExpansion
from matins.insight.forecast.groups import HOUR_S, MINUTE_S
from matins.insight.forecast.index import JobIndex, Segment

HOURS_MAX: Final = 168
"""The longest forecast."""

BY_MINUTE_MAX: Final = 24
"""The most hours that are counted minute by minute; more are counted hour by hour."""

SHARES_MAX: Final = 10
"""How many teams and pools have a share, those with the most fires first."""

HOT_SPOT_MIN: Final = 50
"""So many other jobs are no hot spot yet."""

HOT_SPOT_RATIO: Final = 5
"""How many times as many as in the quiet minute make a hot spot."""

NEARBY_MIN: Final = 30
"""How many minutes away the quiet minute may lie."""


class Peak(msgspec.Struct, frozen=True):
    """The first of the busiest minutes or seconds."""

    at: datetime
    fires: float


class Share(msgspec.Struct, frozen=True):
    """What one team or pool has of the fires."""

    name: str
    jobs: int
    fires: float
    peak_minute: Peak


class Forecast(msgspec.Struct, frozen=True):
    """The fires of active jobs from `since` to `until` (exclusive); `counts` has one for each
    `step_s`. They are expected values: jitter spreads a fire evenly over all that it may take.
    """

    since: datetime
    until: datetime
    team: str | None
    pool: str | None
    jobs: int
    fires: float
    peak_minute: Peak
    peak_second: Peak
    teams: list[Share]
    pools: list[Share]
    step_s: int
    counts: list[float]


class _Estimate(msgspec.Struct, frozen=True):
    """How many jobs a segment has, and about how many fires, to compare by."""

    jobs: int
    fires: float


def forecast(
    index: JobIndex, expansion: LoadExpansion, team: str | None, pool: str | None
) -> Forecast:
    """Return the forecast of all jobs, or of one team's or pool's, over an expansion's range."""
    segments = index.segments(team, pool)
    curve = expansion.curve(index.counters(segments))
    estimates = {segment: _estimate(index, expansion, segment) for segment in segments}
    jobs = sum(estimate.jobs for estimate in estimates.values())
    whole = _share("", curve.since, curve.minutes, jobs)
    is_short = expansion.until - expansion.since <= BY_MINUTE_MAX * HOUR_S
    step = 1 if is_short else HOUR_S // MINUTE_S
    starts = range(0, len(curve.minutes), step)
    return Forecast(
        since=instant_of(expansion.since),
        until=instant_of(expansion.until),
        team=team,
        pool=pool,
        jobs=whole.jobs,
        fires=whole.fires,
        peak_minute=whole.peak_minute,
        peak_second=Peak(instant_of(curve.peak_second), _rounded(curve.peak_second_fires)),
        teams=_shares(index, expansion, whole, estimates, 0),
        pools=_shares(index, expansion, whole, estimates, 1),
        step_s=step * MINUTE_S,
        counts=[_rounded(sum(curve.minutes[start : start + step])) for start in starts],
    )


def hot_spot(since: int, minutes: Sequence[float], fire: int, zone: Zone, *, own: int = 0) -> str:
    """Return the warning for a fire time at which many other jobs fire; empty if there is none.

    `minutes` are the fires of all jobs from the instant `since` on, both in whole seconds from 1970
    UTC, and `own` is how many of those at the fire time are the job's own. What lies outside has no
    warning. The quiet minute is named by the zone's clocks.
    """
    index = (fire - since) // MINUTE_S
    if not 0 <= index < len(minutes):
        return ""
    other_jobs = round(minutes[index]) - own
    nearby = range(max(0, index - NEARBY_MIN), min(len(minutes), index + NEARBY_MIN + 1))
    quiet = min(nearby, key=lambda at: (minutes[at], abs(at - index), at < index))
    fewest = round(minutes[quiet])
    if other_jobs <= HOT_SPOT_MIN or other_jobs <= HOT_SPOT_RATIO * fewest:
        return ""
    instant = since + quiet * MINUTE_S
    wall = instant_of(instant + zone.offset_at(instant))
    return f"fires with {other_jobs} other jobs at this minute; {wall:%H:%M} has {fewest}"


def _estimate(index: JobIndex, expansion: LoadExpansion, segment: Segment) -> _Estimate:
    jobs, fires = 0, 0.0
    for counter in index.counters([segment]):
        jobs += counter.count
        fires += expansion.estimate(counter)
    return _Estimate(jobs, fires)


def _shares(
    index: JobIndex,
    expansion: LoadExpansion,
    whole: Share,
    estimates: dict[Segment, _Estimate],
    field: int,
) -> list[Share]:
    """Return the busiest teams or pools. Which they are is found by estimates alone."""
    by_name: dict[str, list[Segment]] = {}
    for segment in estimates:
        by_name.setdefault(segment[field], []).append(segment)
    if len(by_name) == 1:
        return [msgspec.structs.replace(whole, name=name) for name in by_name]
    fires = {
        name: sum(estimates[segment].fires for segment in segments)
        for name, segments in by_name.items()
    }
    shares = [
        _share(
            name,
            expansion.since,
            expansion.minutes(index.counters(by_name[name])),
            sum(estimates[segment].jobs for segment in by_name[name]),
        )
        for name in sorted(by_name, key=lambda name: (-fires[name], name))[:SHARES_MAX]
    ]
    return sorted(shares, key=lambda share: (-share.fires, share.name))


def _share(name: str, since: int, minutes: list[float], jobs: int) -> Share:
    most = max(minutes)
    at = instant_of(since + minutes.index(most) * MINUTE_S)
    return Share(name, jobs, _rounded(sum(minutes)), Peak(at, _rounded(most)))


def _rounded(fires: float) -> float:
    return round(fires, 3)
