"""The form of a job, new or changed: fields and YAML side by side, with what will come of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, NamedTuple

from litestar import Response, Router, get, post
from litestar.params import FromQuery

from matins.api.dependencies import Owners, Previews, Principal, Reads
from matins.domain.jobs.authors import Author
from matins.domain.jobs.spec import Job
from matins.domain.time.zones import zone_names
from matins.domain.values.errors import (
    ConflictError,
    InvalidInputError,
    MatinsError,
    NotFoundError,
    Problem,
)
from matins.domain.values.names import name_problems
from matins.domain.views import Preview, PreviewRequest
from matins.insight.explain.policies import Policy, describe_policies
from matins.kernel.documents import read_document
from matins.store.previews import PostgresPreviews
from matins.store.reads import PostgresReads
from matins.web.diffs import DiffLine, spec_diff
from matins.web.drafts import NEW, Draft, draft_of, mark, read_draft
from matins.web.fields import CODECS, SCHEDULE_KIND, TARGET_KIND
from matins.web.live import LivePart
from matins.web.rendering import WebRequest, done, fragment, page
from matins.web.subjects import OF_JOB, OfJob
from matins.web.wording import job_path

ITEM = None
LIVE: list[LivePart] = []
AHEAD: Final = 10


class Ahead(NamedTuple):
    """What will come of a job as it is typed. `lines` is how it differs from the stored one."""

    sentence: str = ""
    preview: Preview | None = None
    policies: Sequence[Policy] = ()
    lines: Sequence[DiffLine] = ()
    fault: str = ""


@get("/jobs/new")
async def show_new(
    request: WebRequest,
    previews: Previews,
    team: FromQuery[str] = "default",
    schedule: FromQuery[str] = "",
) -> Response[bytes]:
    """Show an empty form, or one with a schedule from elsewhere."""
    document = dict(NEW)
    if schedule:
        document["schedule"] = read_document(schedule).value
    draft = draft_of(document)
    ahead = await _ahead(previews, team, read_draft(_sent(draft)), None)
    return _form(request, draft, team, None, ahead)


@get("/teams/{team:str}/jobs/{name:str}/edit")
async def show_edit(request: WebRequest, subject: OfJob, previews: Previews) -> Response[bytes]:
    """Show a job in its form."""
    job = _editable(subject.job, subject.fault)
    draft = draft_of(job.spec)
    ahead = await _ahead(previews, job.team, read_draft(_sent(draft)), job)
    return _form(request, draft, job.team, job, ahead)


@post("/jobs/draft", status_code=200)
async def preview_draft(request: WebRequest, previews: Previews, reads: Reads) -> Response[bytes]:
    """Answer what was typed so far with the other of fields and YAML, and what will come of it."""
    sent = await request.form()
    draft, team = await asyncio.to_thread(read_draft, sent), str(sent.get("team", ""))
    job = await _stored(reads, team, str(sent.get("editing", "")))
    draft = draft.refused(_misplaced(draft, team, job))
    return fragment(
        request,
        "draft.html",
        draft=draft,
        ahead=await _ahead(previews, team, draft, job),
        editing=job is not None,
        paths=[SCHEDULE_KIND, TARGET_KIND, *CODECS],
        rewrite=mark(str(sent.get("yaml", "")).replace("\r\n", "\n")) != draft.synced,
    )


@post("/jobs/new")
async def create(
    request: WebRequest, owners: Owners, previews: Previews, principal: Principal
) -> Response[bytes]:
    """Create the job; refused, the form shows why, with all that was typed."""
    sent = await request.form()
    draft, team = await asyncio.to_thread(read_draft, sent), str(sent.get("team", "")).strip()
    draft = draft.refused(_misplaced(draft, team, None))
    spec = draft.spec
    if spec is not None and not draft.problems:
        try:
            await owners.jobs.create(team, spec, _author(principal, sent.get("reason")))
        except (InvalidInputError, ConflictError) as error:
            draft = draft.refused(_told(error))
        else:
            return done(request, f"Created {team}/{spec.name}.", job_path(team, spec.name))
    ahead = await _ahead(previews, team, draft, None)
    return _form(request, draft, team, None, ahead, reason=str(sent.get("reason", "")))


@post("/teams/{team:str}/jobs/{name:str}/edit")
async def save(
    request: WebRequest,
    subject: OfJob,
    owners: Owners,
    previews: Previews,
    principal: Principal,
) -> Response[bytes]:
    """Save the job; refused, the form shows why, with all that was typed."""
    job = _editable(subject.job, subject.fault)
    sent = await request.form()
    draft = await asyncio.to_thread(read_draft, sent)
    draft = draft.refused(_misplaced(draft, job.team, job))
    if str(sent.get("revision", "")) != str(job.revision):
        message = "the job was changed meanwhile; look at what differs now, then save again"
        draft = draft.refused([Problem("", message)])
    if draft.spec is not None and not draft.problems:
        author = _author(principal, sent.get("reason"))
        try:
            answer = await owners.jobs.put(job.team, draft.spec, author)
        except (InvalidInputError, ConflictError) as error:
            draft = draft.refused(_told(error))
        else:
            text = "Nothing has changed." if answer.change == "unchanged" else "Saved."
            if answer.skipped:
                text += f" {answer.skipped} due times of the old schedule had passed: skipped."
            return done(request, text, job_path(job.team, job.spec.name))
    ahead = await _ahead(previews, job.team, draft, job)
    return _form(request, draft, job.team, job, ahead, reason=str(sent.get("reason", "")))


def _form(  # all that a form shows
    request: WebRequest,
    draft: Draft,
    team: str,
    job: Job | None,
    ahead: Ahead,
    *,
    reason: str = "",
) -> Response[bytes]:
    return page(
        request,
        "job_form.html",
        status_code=422 if draft.problems else 200,
        draft=draft,
        team=team,
        job=job,
        ahead=ahead,
        reason=reason,
        zones=sorted(zone_names()),
    )


def _editable(job: Job | None, fault: str) -> Job:
    if job is None:
        raise ConflictError(fault)
    return job


def _sent(draft: Draft) -> dict[str, object]:
    """Return a form as a browser would send it that changed nothing."""
    return {**draft.fields, "yaml": draft.yaml, "synced": draft.synced}


async def _stored(reads: PostgresReads, team: str, name: str) -> Job | None:
    """Return the job that is edited, if it is still there."""
    if not name:
        return None
    try:
        return await reads.job(team, name)
    except NotFoundError:
        return None


def _misplaced(draft: Draft, team: str, job: Job | None) -> list[Problem]:
    """Return what is wrong with the names by which a job is saved."""
    problems = name_problems("team", team)
    if job is not None and draft.spec is not None and draft.spec.name != job.spec.name:
        message = f"must stay {job.spec.name!r}: by another name it is another job"
        problems.append(Problem("name", message))
    return problems


def _told(error: MatinsError) -> list[Problem]:
    if isinstance(error, InvalidInputError):
        return error.problems
    return [Problem("name" if "already" in str(error) else "", str(error))]


def _author(principal: str, reason: object) -> Author:
    return Author(principal, str(reason or "").strip())


async def _ahead(previews: PostgresPreviews, team: str, draft: Draft, job: Job | None) -> Ahead:
    """Return what will come of a draft, or why that can't be told yet."""
    spec, ahead = draft.spec, Ahead()
    if spec is not None:
        lines = [] if job is None else spec_diff(job.spec, spec)
        ahead = Ahead(policies=describe_policies(spec), lines=lines)
        if spec.schedule is None:
            told = "Told by check-ins." if spec.target.checkin else "Only when triggered."
            return ahead._replace(sentence=told)
    if draft.schedule is None:
        return ahead
    known = job.spec.name if job is not None else None
    request = PreviewRequest(draft.schedule, AHEAD, team=team, job=known)
    try:
        preview = await previews.of_schedule(request)
    except MatinsError as error:
        # what is wrong with the schedule itself is told beside its fields
        return ahead if spec is None else ahead._replace(fault=str(error))
    return ahead._replace(sentence=preview.sentence, preview=preview)


ROUTER = Router(
    "/",
    route_handlers=[
        show_new,
        preview_draft,
        create,
        Router("/", dependencies=OF_JOB, route_handlers=[show_edit, save]),
    ],
)
