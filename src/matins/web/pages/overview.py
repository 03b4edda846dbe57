"""The first page: whether all is well, and what happens now and next."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from math import log1p
from typing import Final, NamedTuple

from litestar import Response, Router, get

from matins.api.dependencies import Dependencies, Sources
from matins.domain.runs.states import RunState
from matins.domain.status.findings import SystemStatus
from matins.domain.status.loads import COUNT_MAX, LoadLine, by_name, is_cut
from matins.domain.status.tallies import Tallies, Tally
from matins.domain.views import ExecutorRecord, Run
from matins.store.forecasts import PostgresForecasts
from matins.store.job_search import Upcoming
from matins.web.charts import lines
from matins.web.charts.columns import Columns, columns
from matins.web.charts.partitions import Strip, strip
from matins.web.live import LivePart
from matins.web.rendering import NavigationItem, WebRequest, page, render
from matins.web.wording import length, plural

ITEM = NavigationItem("Overview", "/", "o")

LINES_MAX: Final = 8
"""How many teams, pools, coming due times and failures are shown."""

COLUMNS_WIDTH: Final = 340

HOUR: Final = 60
RECENT: Final = 10
"""Over how many minutes lags are judged."""

LAG_TARGET_S: Final = 1.0
"""99 % of runs are to start within so long after their due time."""

PAGE_WAIT_S: Final = 0.02
LIVE_WAIT_S: Final = 2.0
"""For so long a page waits for the next hour, and its live part, which brings what takes longer:
the first forecast reads all jobs, and goes on where it was left.
"""


class Pool(NamedTuple):
    """A pool, who serves it and what lies on it. The slots of an executor count in each of its
    pools.
    """

    name: str
    executors: int
    slots: int
    running: int
    waiting: int
    queued: int
    queued_since: datetime | None


class OverviewFigures(NamedTuple):
    """What was counted lately, as figures and lines."""

    fires: float
    fires_line: lines.DrawnLine
    lag: Tally
    lag_line: lines.DrawnLine
    hour: Tally
    today: Tally
    since: datetime | None


class ShownOverview(NamedTuple):
    """All that is live on the page."""

    status: SystemStatus
    figures: OverviewFigures
    next_hour: Columns | None
    busy: int
    slots: int
    pools: Sequence[Pool]
    teams: Sequence[LoadLine]
    is_cut: bool
    strip: Strip
    upcoming: Sequence[Upcoming]
    failures: Sequence[Run]


@get("/")
async def show_overview(request: WebRequest, sources: Sources) -> Response[bytes]:
    """Show how all is, at a glance."""
    shown = await _look(sources, PAGE_WAIT_S)
    return page(request, "overview.html", counted=COUNT_MAX, **shown._asdict())


async def _look(dependencies: Dependencies, wait_s: float) -> ShownOverview:
    """Read what is shown: bounded by the numbers of partitions, pools and executors."""
    reads = dependencies.reads
    status = await dependencies.system.status()
    known, loads, failures, counted, cluster, upcoming = await asyncio.gather(
        reads.executors(),
        dependencies.loads.loads(),
        reads.runs(None, [RunState.DEAD], None, None, LINES_MAX),
        dependencies.tallies.read(),
        dependencies.cluster.read(),
        dependencies.job_search.soonest(LINES_MAX),
    )
    executors = [executor for executor in known if executor.state == "alive"]
    return ShownOverview(
        status,
        figures_of(counted),
        await _next_hour(dependencies.forecasts, wait_s),
        sum(executor.running for executor in executors),
        sum(executor.slots for executor in executors),
        pools_of(status, executors, by_name(loads, "pool"))[:LINES_MAX],
        by_name(loads, "team")[:LINES_MAX],
        is_cut(loads),
        strip(cluster),
        upcoming,
        failures.runs,
    )


def figures_of(counted: Tallies) -> OverviewFigures:
    """Return what was counted as the page tells it."""
    each = counted.each(HOUR)
    fires = [tally.claimed / 60 for tally in each]
    lags = [tally.lag_s(0.99) for tally in each]
    highest = max((lag for lag in lags if lag is not None), default=None)
    return OverviewFigures(
        fires[-1],
        lines.line(fires, f"fires per second in the last hour, at most {max(fires):.1f}"),
        counted.last(RECENT),
        lines.line(
            lags,
            f"start lag in the last hour, 99 % of runs: at most {length(highest)};"
            f" the target is {length(LAG_TARGET_S)}",
            LAG_TARGET_S,
            _lag_height,
        ),
        counted.last(HOUR),
        counted.today,
        counted.since,
    )


def _lag_height(lag_s: float) -> float:
    """Return how high a lag is drawn: by its order of magnitude, from some 10 ms on."""
    return log1p(lag_s * 100)


def pools_of(
    status: SystemStatus, executors: Sequence[ExecutorRecord], loads: Sequence[LoadLine]
) -> list[Pool]:
    """Return the pools that have runs or executors, those with the most runs first."""
    known = {pool.pool: pool for pool in status.pools}
    counts = {line.name: line for line in loads}
    names = [*counts, *(name for name in known if name not in counts)]
    return [
        Pool(
            name,
            known[name].executors if name in known else 0,
            sum(executor.slots for executor in executors if name in executor.pools),
            counts.get(name, LoadLine(name)).running,
            counts.get(name, LoadLine(name)).waiting,
            known[name].queued if name in known else 0,
            known[name].queued_since if name in known else None,
        )
        for name in names
    ]


async def _next_hour(forecasts: PostgresForecasts, wait_s: float) -> Columns | None:
    """Draw how many fires each minute of the next hour holds; None while that is still counted."""
    try:
        async with asyncio.timeout(wait_s):
            ahead = await forecasts.forecast(1, None, None)
    except TimeoutError:
        return None
    times = [ahead.since + timedelta(minutes=minute) for minute in range(len(ahead.counts))]
    titles = [
        f"{at:%H:%M} UTC: {plural(round(count), 'fire')}"
        for at, count in zip(times, ahead.counts, strict=True)
    ]
    marks = [f"{at:%H:%M}" if at.minute % 15 == 0 else "" for at in times[:-5]]
    return columns(ahead.counts, titles, marks, COLUMNS_WIDTH)


async def _draw(dependencies: Dependencies, _argument: str) -> str:
    shown = await _look(dependencies, LIVE_WAIT_S)
    now = await dependencies.reads.now()
    return render("parts/overview.html", now, counted=COUNT_MAX, **shown._asdict())


LIVE = [LivePart("overview", _draw, every_s=3.0)]
ROUTER = Router("/", route_handlers=[show_overview])
