"""What is done to many jobs, a part of them at a time; what is wrong with one stops no other.

A page drives it: each answer tells how far it is and asks for the next part. So no request takes
long and no API remembers anything; a part that is asked for twice is done once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple

from litestar import Response, Router, get, post
from litestar.datastructures import FormMultiDict

from matins.api.dependencies import JobSearch, Owners, Principal
from matins.domain.jobs.authors import Author
from matins.domain.jobs.misfire import COUNT_MAX, Missed
from matins.domain.jobs.pausing import Pause
from matins.domain.jobs.selecting import Relabel
from matins.domain.values.errors import InvalidInputError, MatinsError, UnavailableError, check
from matins.owners import owners as use_cases
from matins.store.job_search import PostgresJobSearch
from matins.web.forms import Form
from matins.web.live import LivePart
from matins.web.pages.job_deeds import missed_of
from matins.web.pages.jobs import job_filter
from matins.web.rendering import WebRequest, came_from, done, fragment, lead, page
from matins.web.wording import plural

ITEM = None
LIVE: list[LivePart] = []

PART: Final = 100
"""So many jobs are changed by one request."""

COUNTED: Final = 500
"""Of so many jobs it is counted what they missed."""

AT_ONCE: Final = 4
FAULTS_TOLD: Final = 5

FILTER: Final = ("q", "team", "state", "label")
CARRIED: Final = (*FILTER, "deed", "reason", "missed", "set_labels", "drop_labels", "key")
"""The fields of the form that the next part is asked for with, too."""


class Wanted(NamedTuple):
    """What is to be done to each job, as the form says it."""

    author: Author
    key: str | None
    missed: Missed = "skip"
    relabel: Relabel = Relabel()


class JobNames(NamedTuple):
    """Jobs that are meant, as `team/name`; with `next` there are more after that one."""

    names: Sequence[str]
    next: str | None


class BulkProgress(NamedTuple):
    """How far it is: so many jobs of how many are over, of which so many could not be changed."""

    total: int
    over: int
    failed: int
    faults: Sequence[str]


Deed = Callable[[use_cases.Owners, str, str, Wanted], Awaitable[object]]


@get("/jobs/bulk")
async def show_jobs_again() -> Response[bytes]:
    """Lead to the list of jobs: what was done is over, or was left."""
    return lead("/jobs")


@post("/jobs/bulk", status_code=200)
async def change_jobs(
    request: WebRequest, owners: Owners, principal: Principal, job_search: JobSearch
) -> Response[bytes]:
    """Do one thing to the jobs that were picked, or to a part of all that match the list's filter;
    then tell what was done, or how far it is.
    """
    sent = await request.form()
    form = Form(sent)
    deed = form.choice("deed", tuple(_DEEDS))
    wanted = _wanted(form, deed, principal)
    found = await _names(sent, form, job_search, PART)
    is_all = "after" not in sent and found.next is None
    total = form.number("total") or (0 if is_all else await _total(form, job_search))
    faults = await _each(found.names, lambda team, job: _DEEDS[deed](owners, team, job, wanted))
    if is_all:
        return _told(request, deed, len(found.names), faults)
    over = (form.number("over") or 0) + len(found.names)
    progress = BulkProgress(
        max(total, over),
        over,
        (form.number("failed") or 0) + len(faults),
        [*map(str, sent.getall("fault", [])), *faults][:FAULTS_TOLD],
    )
    carried = {name: form.text(name) for name in CARRIED}
    back = {name: carried[name] for name in FILTER}
    return page(
        request,
        "job_bulk.html",
        done=_DONE[deed],
        progress=progress,
        next=found.next,
        carried=carried,
        back=back,
    )


@post("/jobs/bulk/missed", status_code=200)
async def count_missed(
    request: WebRequest, owners: Owners, job_search: JobSearch
) -> Response[bytes]:
    """Tell how many due times the picked jobs missed, for the question of what becomes of them; of
    very many jobs it is told of the first ones.
    """
    sent = await request.form()
    found = await _names(sent, Form(sent), job_search, COUNTED)
    counts: list[int] = []

    async def count(team: str, job: str) -> None:
        counts.append((await owners.jobs.resume(team, job, "skip", dry_run=True)).skipped)

    await _each(found.names, count)
    return fragment(
        request,
        "missed.html",
        count=sum(counts),
        most=COUNT_MAX,
        jobs=len(found.names),
        has_more=found.next is not None,
    )


async def _names(
    sent: FormMultiDict, form: Form, job_search: PostgresJobSearch, limit: int
) -> JobNames:
    """Return the jobs that are meant, so many of them. Raises InvalidInputError."""
    names = JobNames([str(name) for name in sent.getall("job", [])], None)
    if form.text("every"):
        wanted = job_filter(*(form.text(name) for name in FILTER))
        found = await job_search.find(wanted, form.text("after"), limit)
        names = JobNames([f"{job.team}/{job.spec.name}" for job in found.jobs], found.next)
    if not names.names and names.next is None and not form.text("after"):
        raise InvalidInputError.at("job", "none is picked")
    return names


async def _total(form: Form, job_search: PostgresJobSearch) -> int:
    wanted = job_filter(*(form.text(name) for name in FILTER))
    counts = await job_search.counts(wanted)
    return sum(counts.values()) if wanted.state is None else counts.get(wanted.state, 0)


def _wanted(form: Form, deed: str, principal: str) -> Wanted:
    wanted = Wanted(Author(principal, form.text("reason")), form.optional("key"))
    if deed == "resume":
        return wanted._replace(missed=missed_of(form.text("missed") or "skip"))
    if deed == "label":
        relabel = Relabel(form.labels("set_labels"), form.names("drop_labels"))
        check(relabel.problems())
        return wanted._replace(relabel=relabel)
    return wanted


def _told(request: WebRequest, deed: str, jobs: int, faults: Sequence[str]) -> Response[bytes]:
    text = f"{_DONE[deed]} {plural(jobs - len(faults), 'job')}."
    if faults:
        more = " …" if len(faults) > FAULTS_TOLD else ""
        text += f" Not done: {'; '.join(faults[:FAULTS_TOLD])}{more}"
    return done(request, text, came_from(request), is_error=bool(faults))


async def _each(names: Sequence[str], act: Callable[[str, str], Awaitable[object]]) -> list[str]:
    """Do something to each job, some side by side; return where it failed, and why."""
    side_by_side = asyncio.Semaphore(AT_ONCE)

    async def one(name: str) -> str:
        team, _, job = name.partition("/")
        async with side_by_side:
            try:
                await act(team, job)
            except UnavailableError:
                raise
            except MatinsError as error:
                return f"{name}: {error}"
        return ""

    return [fault for fault in await asyncio.gather(*map(one, names)) if fault]


async def _pause(owners: use_cases.Owners, team: str, job: str, wanted: Wanted) -> None:
    await owners.jobs.pause(team, job, Pause(wanted.author.reason), wanted.author, keep=True)


async def _resume(owners: use_cases.Owners, team: str, job: str, wanted: Wanted) -> None:
    await owners.jobs.resume(team, job, wanted.missed, wanted.author)


async def _trigger(owners: use_cases.Owners, team: str, job: str, wanted: Wanted) -> None:
    await owners.runs.trigger(team, job, key=wanted.key)


async def _label(owners: use_cases.Owners, team: str, job: str, wanted: Wanted) -> None:
    await owners.jobs.relabel(team, job, wanted.relabel, wanted.author)


_DEEDS: Final[dict[str, Deed]] = {
    "pause": _pause,
    "resume": _resume,
    "trigger": _trigger,
    "label": _label,
}
_DONE: Final = {
    "pause": "Paused",
    "resume": "Resumed",
    "trigger": "Triggered",
    "label": "Changed the labels of",
}

ROUTER = Router("/", route_handlers=[show_jobs_again, change_jobs, count_missed])
