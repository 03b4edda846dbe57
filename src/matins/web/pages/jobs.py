"""The page of all jobs, found as one types. What is done to many is in `job_bulk.py`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Final, NamedTuple

from litestar import Response, Router, get
from litestar.params import FromQuery, QueryParameter

from matins.api.dependencies import JobSearch
from matins.domain.jobs.spec import Job, JobState
from matins.domain.runs.recent import RECENT_MAX, RecentRun, RecentRuns
from matins.domain.values.errors import InvalidInputError
from matins.store.job_search import JobFilter, JobsFound
from matins.web.charts.bars import Bars, run_bars
from matins.web.forms import read_labels
from matins.web.live import LivePart
from matins.web.rendering import NavigationItem, WebRequest, page
from matins.web.subjects import sentence_of

PAGE: Final = 50

ITEM = NavigationItem("Jobs", "/jobs", "j")
LIVE: list[LivePart] = []


class ListedJob(NamedTuple):
    """A job as the list shows it."""

    job: Job
    sentence: str
    bars: Bars
    last: RecentRun | None
    p95_s: float | None


@get("/jobs")
async def show_jobs(
    request: WebRequest,
    job_search: JobSearch,
    q: FromQuery[str] = "",
    team: FromQuery[str] = "",
    in_state: Annotated[str, QueryParameter(name="state")] = "",
    label: FromQuery[str] = "",
    after: FromQuery[str] = "",
) -> Response[bytes]:
    """Show jobs by team and name; each part of the filter stands in the address."""
    wanted = job_filter(q, team, in_state, label)
    counts, (found, rows) = await asyncio.gather(
        job_search.counts(wanted), _rows(job_search, wanted, after)
    )
    return page(
        request,
        "jobs.html",
        rows=rows,
        unreadable=found.unreadable,
        next=found.next,
        counts=counts,
        total=sum(counts.values()),
        states=[JobState.ACTIVE, JobState.PAUSED, JobState.QUARANTINED],
        bars_max=RECENT_MAX,
    )


async def _rows(
    job_search: JobSearch, wanted: JobFilter, after: str
) -> tuple[JobsFound, list[ListedJob]]:
    found = await job_search.find(wanted, after, PAGE)
    recent = await job_search.recent(found.jobs)
    return found, [_row(job, recent.get(str(job.id), RecentRuns())) for job in found.jobs]


def _row(job: Job, recent: RecentRuns) -> ListedJob:
    last: Sequence[RecentRun] = recent.runs[:1]
    bars = run_bars(recent.runs, RECENT_MAX)
    return ListedJob(job, sentence_of(job), bars, last[0] if last else None, recent.p95_s)


def job_filter(text: str, team: str, state: str, label: str) -> JobFilter:
    """Return the filter that an address, or a form with it, asks for. Raises InvalidInputError."""
    return JobFilter(team, text.strip(), _state(state), read_labels(label, "label"))


def _state(text: str) -> JobState | None:
    try:
        return JobState(text) if text else None
    except ValueError:
        known = ", ".join(state for state in JobState if state is not JobState.DELETED)
        raise InvalidInputError.at("state", f"is {text!r}; it may be {known}") from None


ROUTER = Router("/", route_handlers=[show_jobs])
