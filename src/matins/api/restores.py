"""What operators decide after a restore: POST /v1/restores/resume."""

from __future__ import annotations

from litestar import Router, post
from litestar.params import FromQuery, JSONBody

from matins.api.bodies import Strict
from matins.api.dependencies import Owners
from matins.api.parameters import check_instant
from matins.domain.runs.restores import Resumed, Resumption


@post("/restores/resume", status_code=200, dto=Strict[Resumption], return_dto=None)
async def resume_after_restore(
    owners: Owners, data: JSONBody[Resumption], dry_run: FromQuery[bool] = False
) -> Resumed:
    """Decide about the due times that may have run before the database was restored.

    They are run as their jobs' admission allows, under the names that they had, or left out. With
    `dry_run` nothing changes, and the answer says how many there are.
    """
    check_instant("since", data.since)
    return await owners.restores.resume(data, dry_run=dry_run)


ROUTER = Router("/", tags=["fleet"], route_handlers=[resume_after_restore])
