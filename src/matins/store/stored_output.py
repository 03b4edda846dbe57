"""The stored output of attempts: all of it where that is kept, else head and tail."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final
from uuid import UUID

import asyncpg
import structlog

from matins.domain.ports.output import KeptOutput
from matins.domain.runs.output import CHUNK_MAX, last_lines
from matins.domain.values.errors import UnavailableError
from matins.domain.values.ids import due_of
from matins.store.database import Database
from matins.store.past import around
from matins.store.queries import load_queries

_ALL: Final = 1 << 62
_AT_ONCE: Final = 8 * CHUNK_MAX  # read together: a bucket lists what it has before each time

log = structlog.get_logger()
_Q = load_queries("stored_output.sql")


class StoredOutput:
    """Reads it a piece at a time. A replica will do."""

    def __init__(self, database: Database, kept: KeptOutput) -> None:
        self._database = database
        self._kept = kept

    async def exit_code(self, run_id: UUID, number: int) -> int | None:
        """Return the exit code of an attempt that has ended, if its target had one."""
        row = await self._ended_attempt(run_id, number)
        code: int | None = row["exit_code"] if row else None
        return code

    async def pieces(
        self, run_id: UUID, number: int, start: int = 0, end: int = _ALL
    ) -> AsyncIterator[str]:
        """Give the output of an attempt between two offsets."""
        length = await self._length(run_id, number)
        if not length:
            if text := (await self._head_and_tail(run_id, number))[start:end]:
                yield text
            return
        for at in range(start, min(length, end), _AT_ONCE):
            text = await self._kept.read(run_id, number, at, min(at + _AT_ONCE, end))
            for begin in range(0, len(text), CHUNK_MAX):
                yield text[begin : begin + CHUNK_MAX]

    async def last_lines(self, run_id: UUID, number: int, count: int) -> str:
        """Return the last lines, read from the end on."""
        at = await self._length(run_id, number)
        if not at:
            return last_lines(await self._head_and_tail(run_id, number), count)
        text = ""
        while at and text.count("\n") <= count:
            at, end = max(at - CHUNK_MAX, 0), at
            text = await self._kept.read(run_id, number, at, end) + text
        return last_lines(text, count)

    async def _length(self, run_id: UUID, number: int) -> int:
        """Return how much is kept whole; 0 also while that is away: better head and tail than
        nothing.
        """
        try:
            return await self._kept.length(run_id, number)
        except UnavailableError as error:
            log.warning("output.kept_is_away", run=str(run_id), error=str(error))
            return 0

    async def _head_and_tail(self, run_id: UUID, number: int) -> str:
        row = await self._ended_attempt(run_id, number)
        return row["output"] if row else ""

    async def _ended_attempt(self, run_id: UUID, number: int) -> asyncpg.Record | None:
        due_at = due_of(run_id)
        query = around(due_at, due_at).pin(_Q["ended_attempt"])
        return await self._database.fetchrow(query, run_id=run_id, number=number, due_at=due_at)
