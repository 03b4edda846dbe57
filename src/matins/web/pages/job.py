"""The page of one job: how it goes, what it did, what comes next, and why."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from litestar import Response, Router, get
from litestar.params import FromQuery

from matins.api.dependencies import (
    AlertReads,
    Dependencies,
    Explanations,
    JobSearch,
    Previews,
    Reads,
)
from matins.domain.jobs.spec import Job
from matins.domain.runs.recent import RecentRun
from matins.domain.runs.states import RunState
from matins.domain.schedules.schedule import Override
from matins.domain.values.errors import MatinsError
from matins.domain.views import DueTime
from matins.insight.explain.policies import describe_policies
from matins.kernel.documents import yaml_text
from matins.kernel.moments import parse_moment
from matins.store.previews import PostgresPreviews
from matins.web.charts.history import RunHistory, durations, lag_s, lags, percentile
from matins.web.live import LivePart
from matins.web.masking import masked_target
from matins.web.rendering import WebRequest, lead, now_of, page, render
from matins.web.subjects import OF_JOB, OfJob
from matins.web.wording import job_path

ITEM = None
CHARTED: Final = 100
LATEST: Final = 12
COMING: Final = 20
COMING_MAX: Final = 200
RUNS: Final = 50


class Occurrence(NamedTuple):
    """A due time to come: what becomes of it, and what its owner can do with it."""

    due: DueTime
    override: Override | None
    is_open: bool


class Coming(NamedTuple):
    """What comes next of a job. `others` are overrides of what lies further away."""

    occurrences: Sequence[Occurrence] = ()
    warnings: Sequence[str] = ()
    others: Sequence[Override] = ()
    fault: str = ""


class JobFigures(NamedTuple):
    """How a job went lately; of as many runs as `runs`."""

    runs: Sequence[RecentRun]
    unfinished: int
    success: float | None
    p95_s: float | None
    lag_p95_s: float | None


@get("/teams/{team:str}/jobs/{name:str}")
async def show_job(
    request: WebRequest,
    subject: OfJob,
    job_search: JobSearch,
    previews: Previews,
    alerts: AlertReads,
    coming: FromQuery[int] = COMING,
) -> Response[bytes]:
    """Show how a job goes."""
    job = subject.job
    if job is None:
        return lead(job_path(subject.team, subject.name, "runs"))
    found, ahead, standing = await asyncio.gather(
        job_search.recent([job], CHARTED),
        _coming(previews, job, min(max(coming, 1), COMING_MAX), now_of(request)),
        alerts.of_job(subject.team, subject.name),
    )
    recent = found.get(str(job.id))
    runs = recent.runs if recent else []
    return page(
        request,
        "job.html",
        subject=subject,
        tab="overview",
        figures=_figures(runs),
        charts=_charts(runs),
        coming=ahead,
        coming_more=None if len(ahead.occurrences) < coming else COMING_MAX,
        policies=describe_policies(job.spec),
        alerts=standing,
        target=yaml_text(masked_target(job.spec.target)),
    )


@get("/teams/{team:str}/jobs/{name:str}/runs")
async def show_runs(
    request: WebRequest, subject: OfJob, reads: Reads, before: FromQuery[UUID | None] = None
) -> Response[bytes]:
    """Show what became of each due time of a job, newest first; of a deleted one, too."""
    found = await reads.runs_of_job(subject.team, subject.name, before, RUNS)
    return page(
        request,
        "job_runs.html",
        subject=subject,
        tab="runs",
        runs=found.runs,
        next=found.next,
        path_of_list=job_path(subject.team, subject.name, "runs"),
    )


@get("/teams/{team:str}/jobs/{name:str}/alerts")
async def show_alerts(request: WebRequest, subject: OfJob, alerts: AlertReads) -> Response[bytes]:
    """Show by which rules a job is judged, how it stands, and what was told of it."""
    standing = await alerts.of_job(subject.team, subject.name)
    return page(request, "job_alerts.html", subject=subject, tab="alerts", alerts=standing)


@get("/teams/{team:str}/jobs/{name:str}/explain")
async def show_explanation(
    request: WebRequest, subject: OfJob, explanations: Explanations, at: FromQuery[str] = ""
) -> Response[bytes]:
    """Tell why a job did, or did not run at an instant."""
    now = now_of(request)
    fault, explanation = "", None
    try:
        moment = parse_moment("at", at, subject.zone, now=now) if at.strip() else None
        explanation = await explanations.of_job(subject.team, subject.name, moment)
    except MatinsError as error:
        fault = str(error)
    return page(
        request,
        "job_explain.html",
        subject=subject,
        tab="explain",
        explanation=explanation,
        fault=fault,
    )


async def _coming(previews: PostgresPreviews, job: Job, count: int, now: datetime) -> Coming:
    """Return what is next of a job, or why that can't be told."""
    if not (job.spec.is_timed or job.spec.schedule):
        return Coming()
    try:
        preview = await previews.of_job(job.team, job.spec.name, count, None)
    except MatinsError as error:
        return Coming(fault=str(error))
    overrides = {override.due_at: override for override in job.overrides}
    moved = {override.move_to for override in job.overrides}
    is_own = not job.spec.upstream
    occurrences = [
        Occurrence(
            due,
            overrides.get(due.utc) if is_own else None,
            is_own and due.utc > now and due.utc not in moved and not due.skipped,
        )
        for due in preview.due
    ]
    shown = {due.utc for due in preview.due}
    others = [
        override for due_at, override in overrides.items() if due_at > now and due_at not in shown
    ]
    return Coming(occurrences, preview.warnings, others)


def _figures(runs: Sequence[RecentRun]) -> JobFigures:
    """Sum up a job's last runs."""
    ended = [run for run in runs if run.state in {RunState.SUCCEEDED, RunState.DEAD}]
    good = [run for run in ended if run.state is RunState.SUCCEEDED]
    took = [run.took_s for run in good if run.took_s is not None]
    late = [seconds for run in runs if (seconds := lag_s(run)) is not None]
    return JobFigures(
        runs[:LATEST],
        sum(run.finished_at is None and run.state in _UNFINISHED for run in runs),
        len(good) / len(ended) if ended else None,
        percentile(took, 0.95),
        percentile(late, 0.95),
    )


_UNFINISHED: Final = {RunState.WAITING, RunState.QUEUED, RunState.RUNNING, RunState.RETRYING}


def _charts(runs: Sequence[RecentRun]) -> list[tuple[str, RunHistory]]:
    return [("How long runs took", durations(runs)), ("How late they started", lags(runs))]


async def _draw(dependencies: Dependencies, argument: str) -> str:
    team, _, name = argument.partition("/")
    job = await dependencies.reads.job(team, name)
    found = await dependencies.job_search.recent([job], CHARTED)
    recent = found.get(str(job.id))
    figures = _figures(recent.runs if recent else [])
    return render("parts/job.html", await dependencies.reads.now(), job=job, figures=figures)


LIVE = [LivePart("job", _draw)]
ROUTER = Router(
    "/", dependencies=OF_JOB, route_handlers=[show_job, show_runs, show_alerts, show_explanation]
)
