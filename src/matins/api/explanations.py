"""Explanations: why a run did, did not, or does not yet happen."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from litestar import Router, get
from litestar.params import FromPath, FromQuery

from matins.api.dependencies import Explanations
from matins.api.parameters import check_instant
from matins.insight.why.explanation import Explanation


@get("/teams/{team:str}/jobs/{name:str}/explanation")
async def explain_job(
    explanations: Explanations,
    team: FromPath[str],
    name: FromPath[str],
    at: FromQuery[datetime | None] = None,
) -> Explanation:
    """Explain what became of a job's due time at an instant; without one, of its last one, and what
    comes next.

    An instant at which it was not due is answered with the nearest due times. A deleted job is
    found by its name as long as there is no other.
    """
    check_instant("at", at)
    return await explanations.of_job(team, name, at)


@get("/runs/{run_id:uuid}/explanation")
async def explain_run(explanations: Explanations, run_id: FromPath[UUID]) -> Explanation:
    """Explain how a run came to where it stands, and what it waits for."""
    return await explanations.of_run(run_id)


ROUTER = Router("/", tags=["explanations"], route_handlers=[explain_job, explain_run])
