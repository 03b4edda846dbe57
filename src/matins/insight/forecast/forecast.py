"""The forecast of the load: what the coming hours hold, when most, and whose it is."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from matins.domain.time.instants import instant_of
from matins.insight.forecast.book import LoadBook
from matins.insight.forecast.canvas import MINUTE_S
from matins.insight.forecast.dials import HOUR_S
from matins.insight.forecast.layouts import Layouts
from matins.insight.forecast.tallies import Cell

HOURS_MAX: Final = 168
"""The longest forecast."""

BY_MINUTE_MAX: Final = 24
"""The most hours that are told minute by minute; more are told hour by hour."""

SHARES_MAX: Final = 10
"""How many teams and pools are told, those with the most fires first."""


class Peak(msgspec.Struct, frozen=True):
    """The first of the busiest minutes or seconds."""

    at: datetime
    fires: float


class Share(msgspec.Struct, frozen=True):
    """What one team or pool has of the load."""

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


def forecast(book: LoadBook, layouts: Layouts, team: str | None, pool: str | None) -> Forecast:
    """Give the forecast of all jobs, or of one team's or pool's, for the window of the layouts."""
    cells = book.cells(team, pool)
    curve = book.curve(layouts, cells)
    about = {cell: book.about(layouts, [cell]) for cell in cells}
    whole = _share("", curve.since, curve.minutes, sum(jobs for jobs, _ in about.values()))
    is_short = layouts.until - layouts.since <= BY_MINUTE_MAX * HOUR_S
    step = 1 if is_short else HOUR_S // MINUTE_S
    starts = range(0, len(curve.minutes), step)
    return Forecast(
        since=instant_of(layouts.since),
        until=instant_of(layouts.until),
        team=team,
        pool=pool,
        jobs=whole.jobs,
        fires=whole.fires,
        peak_minute=whole.peak_minute,
        peak_second=Peak(instant_of(curve.peak_second), _rounded(curve.peak_second_fires)),
        teams=_shares(book, layouts, whole, about, 0),
        pools=_shares(book, layouts, whole, about, 1),
        step_s=step * MINUTE_S,
        counts=[_rounded(sum(curve.minutes[start : start + step])) for start in starts],
    )


def _shares(
    book: LoadBook,
    layouts: Layouts,
    whole: Share,
    about: dict[Cell, tuple[int, float]],
    which: int,
) -> list[Share]:
    """Tell of the busiest teams or pools. Which they are is found without painting any."""
    groups: dict[str, list[Cell]] = {}
    for cell in about:
        groups.setdefault(cell[which], []).append(cell)
    if len(groups) == 1:
        return [msgspec.structs.replace(whole, name=name) for name in groups]
    fires = {name: sum(about[cell][1] for cell in cells) for name, cells in groups.items()}
    found = [
        _share(
            name,
            layouts.since,
            book.minutes(layouts, groups[name]),
            sum(about[cell][0] for cell in groups[name]),
        )
        for name in sorted(groups, key=lambda name: (-fires[name], name))[:SHARES_MAX]
    ]
    return sorted(found, key=lambda share: (-share.fires, share.name))


def _share(name: str, since: int, minutes: list[float], jobs: int) -> Share:
    most = max(minutes)
    at = instant_of(since + minutes.index(most) * MINUTE_S)
    return Share(name, jobs, _rounded(sum(minutes)), Peak(at, _rounded(most)))


def _rounded(fires: float) -> float:
    return round(fires, 3)
