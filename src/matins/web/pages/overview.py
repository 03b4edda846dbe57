"""The first page: whether all is well, and what happens now and next."""

from __future__ import annotations

from litestar import Response, Router, get

from matins.api.dependencies import Dependencies, JobSearch, System
from matins.web.live import Part
from matins.web.rendering import Item, WebRequest, page, render

UPCOMING = 8

ITEM = Item("Overview", "/", "o")


@get("/")
async def show_overview(
    request: WebRequest, system: System, job_search: JobSearch
) -> Response[bytes]:
    """Show how all is, at a glance."""
    status, upcoming = await system.status(), await job_search.soonest(UPCOMING)
    return page(request, "overview.html", status=status, upcoming=upcoming)


async def _draw(dependencies: Dependencies, _argument: str) -> str:
    status = await dependencies.system.status()
    upcoming = await dependencies.job_search.soonest(UPCOMING)
    now = await dependencies.reads.now()
    return render("parts/overview.html", now, status=status, upcoming=upcoming)


LIVE = [Part("overview", _draw)]
ROUTER = Router("/", route_handlers=[show_overview])
