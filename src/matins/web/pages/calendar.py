"""The page of what is due when: a week's load, pile-ups, a day back and ahead, closed days."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from litestar import Response, Router, get
from litestar.params import FromQuery

from matins.api.dependencies import Sources
from matins.domain.calendars.upcoming import ClosedDay
from matins.domain.runs.recent import RecentRuns
from matins.insight.forecast.forecast import HOT_SPOT_MIN, HOT_SPOT_RATIO, HOURS_MAX, Forecast
from matins.store.calendars import PostgresCalendars
from matins.store.job_search import JobFilter
from matins.web.charts.columns import Columns, columns
from matins.web.charts.gantt import Gantt, GanttLine, gantt
from matins.web.charts.heat import heat_map
from matins.web.live import LivePart
from matins.web.rendering import NavigationItem, WebRequest, now_of, page
from matins.web.wording import plural

JOBS_MAX: Final = 20
"""How many jobs the time line shows at once."""

EACH_MAX: Final = 100
"""How many runs and due times of each job are drawn, either side of now."""

WINDOWS_MAX: Final = 20
_DAY = timedelta(hours=24)
_WIDTH = 540

ITEM = NavigationItem("Calendar", "/calendar", "c")
LIVE: list[LivePart] = []


class Closed(NamedTuple):
    """A calendar's next closed days."""

    calendar: str
    jobs: int
    days: Sequence[ClosedDay]


@get("/calendar")
async def show_calendar(
    request: WebRequest,
    sources: Sources,
    q: FromQuery[str] = "",
    team: FromQuery[str] = "",
    pool: FromQuery[str] = "",
    after: FromQuery[str] = "",
) -> Response[bytes]:
    """Show what is due, of all jobs, or of a team's or a pool's."""
    now = now_of(request)
    week = await sources.forecasts.forecast(HOURS_MAX, team or None, pool or None)
    day = await sources.forecasts.forecast(24, team or None, pool or None)
    found = await sources.job_search.find(JobFilter(team, q.strip()), after, JOBS_MAX)
    recent, coming = await asyncio.gather(
        sources.job_search.recent(found.jobs, EACH_MAX),
        sources.previews.coming([job.id for job in found.jobs], now + _DAY, EACH_MAX),
    )
    lines = [
        GanttLine(known.runs, coming.get(job.id, []), known.p95_s, EACH_MAX)
        for job in found.jobs
        for known in [recent.get(str(job.id), RecentRuns())]
    ]
    return page(
        request,
        "calendar.html",
        week=week,
        heat=heat_map(week.since, week.counts),
        day=_day(day),
        minutes=_minutes(day),
        warnings=_warnings(day),
        jobs=found.jobs,
        next=found.next,
        gantt=_gantt(lines, now),
        windows=await sources.windows.soon(team, WINDOWS_MAX),
        closed=await _closed(sources.calendars, team) if team else None,
    )


def _gantt(lines: Sequence[GanttLine], now: datetime) -> Gantt:
    return gantt(lines, now, now - _DAY, now + _DAY)


def _day(day: Forecast) -> Columns:
    """Draw the coming day in steps of ten minutes."""
    step = 10
    counts = [sum(day.counts[start : start + step]) for start in range(0, len(day.counts), step)]
    times = [day.since + timedelta(minutes=step * index) for index in range(len(counts))]
    titles = [
        f"{at:%a %H:%M} UTC, ten minutes: {plural(round(count), 'fire')}"
        for at, count in zip(times, counts, strict=True)
    ]
    marks = [f"{at:%H:00}" if at.minute < step and at.hour % 4 == 0 else "" for at in times]
    return columns(counts, titles, marks, _WIDTH)


def _minutes(day: Forecast) -> Columns:
    """Draw the minutes of the hour, all hours of the coming day together."""
    counts = [0.0] * 60
    for index, count in enumerate(day.counts):
        counts[(day.since.minute + index) % 60] += count
    titles = [
        f":{minute:02d} of each hour: {plural(round(count), 'fire')} a day"
        for minute, count in enumerate(counts)
    ]
    marks = [f":{minute:02d}" if minute % 10 == 0 else "" for minute in range(60)]
    return columns(counts, titles, marks, _WIDTH)


def _warnings(day: Forecast) -> list[str]:
    """Return what should be spread: minutes that hold far more than those around them."""
    mean = day.fires / max(1, len(day.counts))
    peak = day.peak_minute
    warned = []
    if peak.fires > max(HOT_SPOT_MIN, HOT_SPOT_RATIO * mean):
        runs = plural(round(peak.fires), "run")
        warned.append(
            f"{runs} are due in the minute of {peak.at:%H:%M} UTC, where a minute has {mean:.0f} on"
            " average. Jitter, or H instead of a fixed minute, spreads them."
        )
    second = day.peak_second
    if second.fires > HOT_SPOT_MIN and second.fires > peak.fires / 2:
        runs = plural(round(second.fires), "run")
        warned.append(f"{runs} are due in one second, {second.at:%H:%M:%S} UTC.")
    return warned


async def _closed(calendars: PostgresCalendars, team: str) -> list[Closed]:
    found = await calendars.page(team, "", 50)
    return [Closed(item.calendar.name, item.jobs, item.closed_days) for item in found.calendars]


ROUTER = Router("/", route_handlers=[show_calendar])
