"""Sessions whose client froze in the middle of a statement: PostgreSQL below 17 never ends them.

Between Execute and Sync a session is neither in a statement nor an idle transaction, so none of its
time-outs runs, and it keeps all its locks. From 17 on `transaction_timeout` ends it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import structlog

from matins.kernel.service import Stopwatch, repeat
from matins.store.database import Database
from matins.store.queries import load_queries

_Q = load_queries("half_sent.sql")

log = structlog.get_logger()


class HalfSent:
    """Ends our own sessions whose transaction outlasts what `transaction_timeout` would allow."""

    def __init__(
        self, database: Database, clock: Stopwatch, bounds_s: Mapping[str, float], every_s: float
    ) -> None:
        """`bounds_s`: by the name of a pool, how long its transactions may last, in seconds."""
        self._database = database
        self._clock = clock
        self._bounds_s = bounds_s
        self._every_s = every_s
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Look again and again until stopped."""
        await repeat(self.look, self._every_s, self._clock, self._stopping, name="half_sent.look")

    async def stop(self) -> None:
        """See `kernel.service.Service`."""
        self._stopping.set()

    async def look(self) -> None:
        """Look once."""
        ended = await self._database.fetch(
            _Q["end"],
            names=[f"matins {pool}" for pool in self._bounds_s],
            bounds_s=list(self._bounds_s.values()),
        )
        for row in ended:
            log.warning("session.half_sent", session=row["application_name"], pid=row["pid"])
