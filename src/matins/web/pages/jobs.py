"""The page of all jobs: found as one types, paused, resumed and triggered many at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Final, NamedTuple

from litestar import Response, Router, get, post
from litestar.params import FromQuery, QueryParameter

from matins.api.dependencies import JobSearch, Owners, Principal
from matins.domain.jobs.authors import Author
from matins.domain.jobs.pausing import Pause
from matins.domain.jobs.spec import Job, JobState
from matins.domain.runs.recent import RECENT_MAX, RecentRun, RecentRuns
from matins.domain.values.errors import InvalidInputError, MatinsError, UnavailableError
from matins.insight.explain.sentences import explain
from matins.owners import owners as use_cases
from matins.store.job_search import JobFilter
from matins.web.charts.bars import Bars, run_bars
from matins.web.forms import read_labels
from matins.web.live import Part
from matins.web.rendering import Item, WebRequest, came_from, done, page
from matins.web.wording import plural

PAGE: Final = 50
BULK_MAX: Final = 1_000
"""The most jobs that are changed at once."""

ITEM = Item("Jobs", "/jobs", "j")
LIVE: list[Part] = []


class Row(NamedTuple):
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
    wanted = JobFilter(team, q.strip(), _state(in_state), read_labels(label, "label"))
    found = await job_search.find(wanted, after, PAGE)
    counts, recent = await asyncio.gather(job_search.counts(wanted), job_search.recent(found.jobs))
    rows = [_row(job, recent.get(str(job.id), RecentRuns())) for job in found.jobs]
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


@post("/jobs/bulk")
async def change_jobs(request: WebRequest, owners: Owners, principal: Principal) -> Response[bytes]:
    """Do one thing to each job that was picked; what is wrong with one stops none of the others."""
    form = await request.form()
    names = [str(name) for name in form.getall("job", [])][:BULK_MAX]
    deed = str(form.get("deed", ""))
    reason = str(form.get("reason", "")).strip()
    change = _DEEDS.get(deed)
    if change is None:
        raise InvalidInputError.at("deed", f"is {deed!r}; it may be {', '.join(_DEEDS)}")
    if not names:
        raise InvalidInputError.at("job", "none is picked")
    faults = []
    for name in names:
        team, _, job = name.partition("/")
        try:
            await change(owners, team, job, Author(principal, reason))
        except UnavailableError:
            raise
        except MatinsError as error:
            faults.append(f"{name}: {error}")
    text = f"{_DONE[deed]} {plural(len(names) - len(faults), 'job')}."
    if faults:
        text += f" Not done: {'; '.join(faults[:5])}{' …' if len(faults) > 5 else ''}"
    return done(request, text, came_from(request), is_error=bool(faults))


async def _pause(owners: use_cases.Owners, team: str, job: str, author: Author) -> None:
    await owners.jobs.pause(team, job, Pause(reason=author.reason), author)


async def _resume(owners: use_cases.Owners, team: str, job: str, author: Author) -> None:
    await owners.jobs.resume(team, job, "skip", author)


async def _trigger(owners: use_cases.Owners, team: str, job: str, _author: Author) -> None:
    await owners.runs.trigger(team, job)


_DEEDS: Final[dict[str, Callable[[use_cases.Owners, str, str, Author], Awaitable[None]]]] = {
    "pause": _pause,
    "resume": _resume,
    "trigger": _trigger,
}
_DONE: Final = {"pause": "Paused", "resume": "Resumed", "trigger": "Triggered"}


def _row(job: Job, recent: RecentRuns) -> Row:
    last: Sequence[RecentRun] = recent.runs[:1]
    bars = run_bars(recent.runs, RECENT_MAX)
    return Row(job, _sentence(job), bars, last[0] if last else None, recent.p95_s)


def _sentence(job: Job) -> str:
    schedule = job.spec.schedule
    if schedule is None:
        return "Told by check-ins." if job.spec.target.checkin else "Only when triggered."
    try:
        return explain(schedule, seed=str(job.id), anchor=job.created_at)
    except MatinsError as error:
        return str(error)


def _state(text: str) -> JobState | None:
    try:
        return JobState(text) if text else None
    except ValueError:
        known = ", ".join(state for state in JobState if state is not JobState.DELETED)
        raise InvalidInputError.at("state", f"is {text!r}; it may be {known}") from None


ROUTER = Router("/", route_handlers=[show_jobs, change_jobs])
