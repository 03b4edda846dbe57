"""Whether all is well: /v1/status."""

from __future__ import annotations

from litestar import Router, get

from matins.api.dependencies import System
from matins.domain.status.findings import SystemStatus


@get("/status")
async def show_status(system: System) -> SystemStatus:
    """Tell what is wrong with the whole system, since when and what to do, and the figures beside.

    Judged every few seconds from the rows and the database's clock, by the API that is asked.
    """
    return await system.status()


ROUTER = Router("/", tags=["fleet"], route_handlers=[show_status])
