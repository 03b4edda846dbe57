"""The status of one run: the one hot path of the owners' side, so one raw ASGI handler.

The cache answers first. What it does not have is read from PostgreSQL, all who ask at one moment
in one query, and written back. Without the cache all of it comes from PostgreSQL.
"""

from __future__ import annotations

import asyncio
from uuid import UUID

import msgspec

from matins.domain.executors.protocol import RunStatus
from matins.domain.ports import StatusCache
from matins.domain.runs.states import LASTING
from matins.domain.values.errors import NotFoundError
from matins.kernel.http import Scope
from matins.store.reads import PostgresReads, due_at_of

BATCH_MAX = 1000


class StatusReader:
    """Gives statuses as JSON."""

    def __init__(self, reads: PostgresReads, cache: StatusCache) -> None:
        self._reads = reads
        self._cache = cache
        self._asked: dict[UUID, asyncio.Future[bytes | None]] = {}
        self._reader: asyncio.Task[None] | None = None

    async def read(self, run_id: UUID) -> bytes:
        """Return a run's status. Raises NotFoundError, or UnavailableError without the database."""
        due_at_of(run_id)
        status = await self._cache.get(run_id) or await self._from_database(run_id)
        if status is None:
            raise NotFoundError(f"there is no run {run_id}")
        return status

    async def note(self, status: RunStatus) -> None:
        """Let polls know of the end of a run, made known here."""
        if status.state in LASTING:
            await self._cache.put([status])

    async def _from_database(self, run_id: UUID) -> bytes | None:
        answer = self._asked.get(run_id)
        if answer is None:
            answer = self._asked[run_id] = asyncio.get_running_loop().create_future()
            if self._reader is None:
                self._reader = asyncio.create_task(self._read_all())
        return await asyncio.shield(answer)

    async def _read_all(self) -> None:
        """Answer all who ask, until nobody does. Never raises: an error goes to those who asked."""
        while self._asked:
            batch = dict(list(self._asked.items())[:BATCH_MAX])
            for run_id in batch:
                del self._asked[run_id]
            try:
                statuses = await self._reads.statuses(batch)
                bodies = {status.id: msgspec.json.encode(status) for status in statuses}
            except Exception as error:
                for answer in batch.values():
                    answer.set_exception(error)
                    answer.exception()  # all who asked may have gone
                continue
            for run_id, answer in batch.items():
                answer.set_result(bodies.get(run_id))
            await self._cache.put(statuses)
        self._reader = None


def run_asked_for(scope: Scope) -> UUID | None:
    """Return the run whose status a request asks for, and no more; None if it asks for
    something else.
    """
    path: str = scope["path"]
    if scope["method"] != "GET" or scope["query_string"]:
        return None
    if not path.startswith(_PATH) or len(path) != len(_PATH) + 36:
        return None
    try:
        return UUID(path[len(_PATH) :])
    except ValueError:
        return None


_PATH = "/v1/runs/"
