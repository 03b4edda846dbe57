"""Bringing the schema up to date, which is done once and by nobody's role."""

from __future__ import annotations

import asyncio

from matins.engines.endpoints import Endpoints
from matins.kernel.logs import set_up_logs
from matins.kernel.settings import Settings
from matins.store.migrate import migrate


def run_migrate(settings: Settings) -> list[str]:
    """Bring the schema up to date; gives the names of the migrations that were applied."""
    set_up_logs("migrate", level=settings.log_level)
    return asyncio.run(migrate(Endpoints(settings).postgres()))
