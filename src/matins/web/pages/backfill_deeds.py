"""What owners do to backfills: start one, after they were told what it comes to; pause, cancel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple, get_args
from uuid import UUID

from litestar import Response, Router, get, post
from litestar.params import FromPath

from matins.api.dependencies import JobSearch, Owners, Reads
from matins.domain.jobs.spec import Job
from matins.domain.runs.backfills.values import BackfillPlan, BackfillRequest, Order
from matins.domain.runs.recent import RecentRun
from matins.domain.runs.states import RunState
from matins.domain.values.errors import (
    ConflictError,
    InvalidInputError,
    MatinsError,
    NotFoundError,
)
from matins.kernel.moments import parse_moment
from matins.owners import owners as use_cases
from matins.store.reads import PostgresReads
from matins.web.forms import Form
from matins.web.live import LivePart
from matins.web.moments import zone_of
from matins.web.rendering import WebRequest, done, now_of, page

ITEM = None
LIVE: list[LivePart] = []

FIELDS: Final[tuple[str, ...]] = ("job", "since", "until", "order", "limit", "again", "reason")
_ORDERS: Final = get_args(Order)


class WantedBackfills(NamedTuple):
    """A backfill as it was typed, read."""

    job: Job
    request: BackfillRequest


@get("/backfills/new")
async def show_new(
    request: WebRequest, reads: Reads, job_search: JobSearch, owners: Owners
) -> Response[bytes]:
    """Show an empty form; or what a backfill would come to, once a job and a time are given."""
    given = request.query_params.dict()
    typed = {name: str(given[name][-1]) if name in given else "" for name in FIELDS}
    plan, took, fault = None, None, ""
    if typed["job"] and typed["since"]:
        try:
            wanted = await _wanted(reads, typed, now_of(request))
            plan = await _plan(owners, wanted)
            recent = (await job_search.recent([wanted.job])).get(str(wanted.job.id))
            took = _estimate(plan, wanted.request.limit, recent.runs if recent else ())
        except (InvalidInputError, NotFoundError, ConflictError) as error:
            fault = _told(error)
    return page(
        request,
        "backfill_new.html",
        typed=typed,
        plan=plan,
        took=took,
        fault=fault,
        orders=_ORDERS,
    )


@post("/backfills/new")
async def start_backfill(request: WebRequest, reads: Reads, owners: Owners) -> Response[bytes]:
    """Start a backfill."""
    form = await request.form()
    typed = {name: str(form.get(name, "")) for name in FIELDS}
    job, asked = await _wanted(reads, typed, now_of(request))
    started = await owners.backfills.start(job.team, job.spec.name, asked)
    assert started.backfill is not None, "it was no dry run"
    return done(request, "Started.", f"/backfills/{started.backfill.id}")


@post("/backfills/{backfill_id:uuid}/pause")
async def pause_backfill(
    request: WebRequest, owners: Owners, backfill_id: FromPath[UUID]
) -> Response[bytes]:
    """Make no more runs until it is resumed."""
    await owners.backfills.pause(backfill_id)
    text = "Paused: it makes no more runs until it is resumed."
    return done(request, text, f"/backfills/{backfill_id}")


@post("/backfills/{backfill_id:uuid}/resume")
async def resume_backfill(
    request: WebRequest, owners: Owners, backfill_id: FromPath[UUID]
) -> Response[bytes]:
    """Go on."""
    await owners.backfills.resume(backfill_id)
    return done(request, "Resumed.", f"/backfills/{backfill_id}")


@post("/backfills/{backfill_id:uuid}/cancel")
async def cancel_backfill(
    request: WebRequest, owners: Owners, backfill_id: FromPath[UUID]
) -> Response[bytes]:
    """End it, with its runs if that is asked for."""
    with_runs = bool((await request.form()).get("runs"))
    await owners.backfills.cancel(backfill_id, with_runs=with_runs)
    text = "Cancelled, with its runs." if with_runs else "Cancelled; runs that were made go on."
    return done(request, text, f"/backfills/{backfill_id}")


async def _wanted(reads: PostgresReads, typed: Mapping[str, str], now: datetime) -> WantedBackfills:
    """Read what was typed. Moments without an offset are in the job's zone.

    Raises InvalidInputError, NotFoundError.
    """
    fields = Form(typed)
    team, _, name = fields.text("job").rpartition("/")
    job = await reads.job(team or "default", name)
    zone = zone_of(job)
    until, limit = fields.optional("until"), fields.number("limit")
    request = BackfillRequest(
        since=parse_moment("since", fields.text("since"), zone, now=now),
        until=None if until is None else parse_moment("until", until, zone, now=now),
        limit=1 if limit is None else limit,
        order=fields.choice("order", _ORDERS) if fields.text("order") else "oldest",
        again=bool(fields.text("again")),
        reason=fields.text("reason"),
    )
    return WantedBackfills(job, request)


async def _plan(owners: use_cases.Owners, wanted: WantedBackfills) -> BackfillPlan:
    job, request = wanted
    started = await owners.backfills.start(job.team, job.spec.name, request, dry_run=True)
    return started.plan


def _estimate(plan: BackfillPlan, limit: int, recent: Sequence[RecentRun]) -> timedelta | None:
    """Return how long it will probably take, by the last runs that succeeded."""
    took = [run.took_s for run in recent if run.state is RunState.SUCCEEDED]
    known = [seconds for seconds in took if seconds is not None]
    if not known:
        return None
    return timedelta(seconds=sum(known) / len(known) * plan.to_run / min(limit, plan.to_run or 1))


def _told(error: MatinsError) -> str:
    if isinstance(error, InvalidInputError):
        return "; ".join(f"{problem.where} {problem.message}" for problem in error.problems)
    return str(error)


ROUTER = Router(
    "/",
    route_handlers=[show_new, start_backfill, pause_backfill, resume_backfill, cancel_backfill],
)
