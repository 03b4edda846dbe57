"""The pages of backfills: all of them, one, and a new one, which is first told and then started."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from litestar import Response, Router, get
from litestar.params import FromPath, FromQuery

from matins.api.dependencies import Backfills, Dependencies
from matins.domain.runs.backfills.values import Backfill
from matins.domain.values.errors import NotFoundError
from matins.store.backfills import PostgresBackfillChanges
from matins.web.live import LivePart
from matins.web.rendering import NavigationItem, WebRequest, page, render

SHOWN: Final = 50

ITEM = NavigationItem("Backfills", "/backfills", "b")


@get("/backfills")
async def show_backfills(
    request: WebRequest, backfills: Backfills, team: FromQuery[str] = ""
) -> Response[bytes]:
    """Show the newest backfills: of all teams, or of one."""
    team = team.strip()
    shown = await _newest(backfills, team)
    return page(request, "backfills.html", backfills=shown, team=team, shown_max=SHOWN)


@get("/backfills/{backfill_id:uuid}")
async def show_backfill(
    request: WebRequest, backfills: Backfills, backfill_id: FromPath[UUID]
) -> Response[bytes]:
    """Show how far a backfill is, and what it leaves out and why."""
    return page(request, "backfill.html", backfill=await backfills.found(backfill_id))


async def _newest(backfills: PostgresBackfillChanges, team: str) -> Sequence[Backfill]:
    return await (backfills.of_team(team, SHOWN) if team else backfills.newest(SHOWN))


async def _draw_list(dependencies: Dependencies, argument: str) -> str:
    shown = await _newest(dependencies.backfills, argument)
    now = await dependencies.reads.now()
    return render("parts/backfills.html", now, backfills=shown, team=argument)


async def _draw(dependencies: Dependencies, argument: str) -> str:
    try:
        backfill_id = UUID(argument)
    except ValueError:
        raise NotFoundError(f"there is no backfill {argument[:40]!r}") from None
    backfill = await dependencies.backfills.found(backfill_id)
    return render("parts/backfill.html", await dependencies.reads.now(), backfill=backfill)


LIVE = [LivePart("backfills", _draw_list), LivePart("backfill", _draw)]
ROUTER = Router("/", route_handlers=[show_backfills, show_backfill])
