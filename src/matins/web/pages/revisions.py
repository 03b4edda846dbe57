"""What a job was: who changed it, when and why, what is different between two, and going back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from litestar import Response, Router, get, post
from litestar.params import FromPath, FromQuery

from matins.api.dependencies import Owners, Principal, Revisions
from matins.domain.jobs.authors import Author
from matins.domain.values.errors import InvalidInputError
from matins.domain.views import RevisionRecord
from matins.store.revisions import PostgresRevisions
from matins.web.diffs import DiffLine, spec_diff
from matins.web.forms import Form
from matins.web.live import LivePart
from matins.web.rendering import WebRequest, done, page
from matins.web.subjects import OF_JOB, OfJob
from matins.web.wording import job_path

ITEM = None
LIVE: list[LivePart] = []
PAGE: Final = 50


@get("/teams/{team:str}/jobs/{name:str}/revisions")
async def show_revisions(
    request: WebRequest,
    subject: OfJob,
    revisions: Revisions,
    before: FromQuery[int | None] = None,
    older: FromQuery[int | None] = None,
    newer: FromQuery[int | None] = None,
) -> Response[bytes]:
    """Show revisions, newest first, and how two of them differ: the last two unless told."""
    team, name = subject.team, subject.name
    found = await revisions.page(team, name, before, PAGE)
    pair = await _pair(revisions, team, name, found.revisions, (older, newer))
    return page(
        request,
        "job_revisions.html",
        subject=subject,
        tab="revisions",
        found=found,
        pair=pair,
        lines=_difference(pair),
        path_of_list=job_path(team, name, "revisions"),
    )


@post("/teams/{team:str}/jobs/{name:str}/rollback")
async def roll_back(
    request: WebRequest,
    owners: Owners,
    principal: Principal,
    team: FromPath[str],
    name: FromPath[str],
) -> Response[bytes]:
    """Make the job what it was by an earlier revision."""
    form = Form(await request.form())
    revision = form.number("revision")
    if revision is None:
        raise InvalidInputError.at("revision", "is missing; say to which one to go back")
    author = Author(principal, form.text("reason"))
    answer = await owners.jobs.roll_back(team, name, revision, author)
    text = f"Revision {answer.job.revision} is what revision {revision} was."
    if answer.change == "unchanged":
        text = f"The job is what it was by revision {revision} already."
    return done(request, text, job_path(team, name, "revisions"))


async def _pair(
    revisions: PostgresRevisions,
    team: str,
    name: str,
    listed: Sequence[RevisionRecord],
    asked: tuple[int | None, int | None],
) -> tuple[RevisionRecord, RevisionRecord] | None:
    """Return the two revisions that are compared, the older one first; None if there is one."""
    older, newer = asked
    if older is None or newer is None:
        return (listed[1], listed[0]) if len(listed) > 1 else None
    known = {record.revision: record for record in listed}
    first, last = [
        known.get(number) or await revisions.show(team, name, number)
        for number in sorted((older, newer))
    ]
    return first, last


def _difference(pair: tuple[RevisionRecord, RevisionRecord] | None) -> Sequence[DiffLine]:
    if pair is None or pair[0].spec is None or pair[1].spec is None:
        return []
    return spec_diff(pair[0].spec, pair[1].spec)


ROUTER = Router("/", dependencies=OF_JOB, route_handlers=[show_revisions, roll_back])
