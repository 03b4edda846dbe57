"""What is done to many jobs at once; what is wrong with one stops none of the others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from litestar import Response, Router, post

from matins.api.dependencies import JobSearch, Owners, Principal
from matins.domain.jobs.authors import Author
from matins.domain.jobs.misfire import COUNT_MAX, Missed
from matins.domain.jobs.pausing import Pause
from matins.domain.values.errors import InvalidInputError, MatinsError, UnavailableError
from matins.owners import owners as use_cases
from matins.store.job_search import PostgresJobSearch
from matins.web.forms import Form
from matins.web.live import LivePart
from matins.web.pages.job_deeds import missed_of
from matins.web.pages.jobs import job_filter
from matins.web.rendering import WebRequest, came_from, done, fragment
from matins.web.wording import plural

ITEM = None
LIVE: list[LivePart] = []

BULK_MAX: Final = 1_000
"""The most jobs that are changed at once."""

AT_ONCE: Final = 4
FAULTS_TOLD: Final = 5


class Wanted(NamedTuple):
    """What is to be done to each job, as the form says it."""

    author: Author
    missed: Missed = "skip"
    labels: Mapping[str, str] = MappingProxyType({})
    unlabelled: Sequence[str] = ()


Deed = Callable[[use_cases.Owners, str, str, Wanted], Awaitable[object]]


@post("/jobs/bulk")
async def change_jobs(
    request: WebRequest, owners: Owners, principal: Principal, job_search: JobSearch
) -> Response[bytes]:
    """Do one thing to each job that was picked, or to all that match the list's filter."""
    sent = await request.form()
    form = Form(sent)
    deed = form.choice("deed", tuple(_DEEDS))
    names = await _names(sent.getall("job", []), form, job_search)
    wanted = _wanted(form, deed, principal)
    faults = await _each(names, lambda team, job: _DEEDS[deed](owners, team, job, wanted))
    text = f"{_DONE[deed]} {plural(len(names) - len(faults), 'job')}."
    if faults:
        more = " …" if len(faults) > FAULTS_TOLD else ""
        text += f" Not done: {'; '.join(faults[:FAULTS_TOLD])}{more}"
    return done(request, text, came_from(request), is_error=bool(faults))


@post("/jobs/bulk/missed", status_code=200)
async def count_missed(
    request: WebRequest, owners: Owners, job_search: JobSearch
) -> Response[bytes]:
    """Tell how many due times the picked jobs missed, for the question of what becomes of them."""
    sent = await request.form()
    names = await _names(sent.getall("job", []), Form(sent), job_search)
    counts: list[int] = []

    async def count(team: str, job: str) -> None:
        counts.append((await owners.jobs.resume(team, job, "skip", dry_run=True)).skipped)

    await _each(names, count)
    return fragment(request, "missed.html", count=sum(counts), most=COUNT_MAX, jobs=len(names))


async def _names(picked: Sequence[object], form: Form, job_search: PostgresJobSearch) -> list[str]:
    """Return the jobs that are meant, as `team/name`. Raises InvalidInputError."""
    names = [str(name) for name in picked]
    if form.text("every"):
        wanted = job_filter(*(form.text(name) for name in ("q", "team", "state", "label")))
        found = await job_search.find(wanted, "", BULK_MAX + 1)
        names = [f"{job.team}/{job.spec.name}" for job in found.jobs]
    if not names:
        raise InvalidInputError.at("job", "none is picked")
    if len(names) > BULK_MAX:
        raise InvalidInputError.at("job", f"are more than {BULK_MAX}; narrow the filter")
    return names


def _wanted(form: Form, deed: str, principal: str) -> Wanted:
    author = Author(principal, form.text("reason"))
    if deed == "resume":
        return Wanted(author, missed=missed_of(form.text("missed") or "skip"))
    if deed == "label":
        labels, unlabelled = form.labels("set_labels"), form.names("drop_labels")
        if not (labels or unlabelled):
            raise InvalidInputError.at("set_labels", "is empty; name labels to set or to remove")
        return Wanted(author, labels=labels, unlabelled=unlabelled)
    return Wanted(author)


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
    await owners.jobs.pause(team, job, Pause(reason=wanted.author.reason), wanted.author)


async def _resume(owners: use_cases.Owners, team: str, job: str, wanted: Wanted) -> None:
    await owners.jobs.resume(team, job, wanted.missed, wanted.author)


async def _trigger(owners: use_cases.Owners, team: str, job: str, _wanted: Wanted) -> None:
    await owners.runs.trigger(team, job)


async def _label(owners: use_cases.Owners, team: str, job: str, wanted: Wanted) -> None:
    await owners.jobs.relabel(team, job, wanted.labels, wanted.unlabelled, wanted.author)


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

ROUTER = Router("/", route_handlers=[change_jobs, count_missed])
