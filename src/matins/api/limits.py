"""Limits and quotas: /v1/teams/{team}/limits and below, and /v1/teams/{team}/quotas."""

from __future__ import annotations

from litestar import Router, delete, get, put
from litestar.params import FromPath, JSONBody

from matins.api.bodies import Strict
from matins.api.dependencies import Limits, Owners
from matins.api.parameters import check_same_name
from matins.domain.jobs.limit_views import LimitChanged, LimitRecord, QuotasChanged, QuotasRecord
from matins.domain.jobs.limits import Limit, Quotas


@get("/teams/{team:str}/limits")
async def list_limits(limits: Limits, team: FromPath[str]) -> list[LimitRecord]:
    """List a team's concurrency keys and the limits of its jobs, beside what is taken."""
    return await limits.of_team(team)


@get("/teams/{team:str}/limits/{key:str}")
async def show_limit(limits: Limits, team: FromPath[str], key: FromPath[str]) -> LimitRecord:
    """Show a concurrency key: its limits, what is taken of them, and how many runs wait."""
    return await limits.show(team, key)


@put("/teams/{team:str}/limits/{key:str}", dto=Strict[Limit], return_dto=None)
async def put_limit(
    owners: Owners, team: FromPath[str], key: FromPath[str], data: JSONBody[Limit]
) -> LimitChanged:
    """Set the limits of a concurrency key, which count instead of what its jobs say.

    What has begun goes on. Below what is taken nothing starts until there is room; a higher limit
    lets the next ones start at once.
    """
    check_same_name(data.key, key)
    return await owners.limits.put(team, data)


@delete("/teams/{team:str}/limits/{key:str}", status_code=200)
async def delete_limit(owners: Owners, team: FromPath[str], key: FromPath[str]) -> LimitChanged:
    """Let the limits count that the jobs of a key say themselves."""
    return await owners.limits.delete(team, key)


@get("/teams/{team:str}/quotas")
async def show_quotas(limits: Limits, team: FromPath[str]) -> QuotasRecord:
    """Show a team's quotas, each beside its use."""
    return await limits.quotas(team)


@put("/teams/{team:str}/quotas", dto=Strict[Quotas], return_dto=None)
async def put_quotas(owners: Owners, team: FromPath[str], data: JSONBody[Quotas]) -> QuotasChanged:
    """Set all quotas of a team. What is left out is by the operator's default."""
    return await owners.limits.put_quotas(team, data)


ROUTER = Router(
    "/",
    tags=["limits"],
    route_handlers=[list_limits, show_limit, put_limit, delete_limit, show_quotas, put_quotas],
)
