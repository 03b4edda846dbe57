"""Whole outputs in PostgreSQL, compressed. See `domain.ports.output.KeptOutput`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from uuid import UUID

import asyncpg
import structlog

from matins.domain.runs.output import CHUNK_MAX, OutputChunk
from matins.domain.values.ids import due_of
from matins.store.database import Database
from matins.store.days import is_day_missing
from matins.store.packed import pack, unpack
from matins.store.queries import load_queries

log = structlog.get_logger()

_Q = load_queries("output.sql")


class PostgresKeptOutput:
    """Chunks in daily tables, which go with the runs of their day."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def append(self, chunks: Sequence[OutputChunk]) -> None:
        """See `domain.ports.output.KeptOutput`. What comes for a day that is dropped is gone."""
        packed = await asyncio.to_thread(lambda: [pack(chunk.text) for chunk in chunks])
        try:
            await self._insert(chunks, packed)
        except asyncpg.CheckViolationError as error:
            if not is_day_missing(error):
                raise
        else:
            return
        for day in sorted({due_of(chunk.run_id).date() for chunk in chunks}):
            await self._database.fetch(_Q["ensure_output_day"], day=day)
        try:
            await self._insert(chunks, packed)
        except asyncpg.CheckViolationError as error:
            if not is_day_missing(error):
                raise
            log.warning("output.too_late", chunks=len(chunks))

    async def length(self, run_id: UUID, number: int) -> int:
        """See `domain.ports.output.KeptOutput`."""
        row = await self._database.fetchrow(
            _Q["length"], run_id=run_id, number=number, due_at=due_of(run_id)
        )
        return row["length"] if row else 0

    async def read(self, run_id: UUID, number: int, start: int, end: int) -> str:
        """See `domain.ports.output.KeptOutput`."""
        rows = await self._database.fetch(
            _Q["chunks"],
            run_id=run_id,
            number=number,
            due_at=due_of(run_id),
            start=start,
            end=end,
            longest=CHUNK_MAX,
        )
        pieces = [(row["begins"], row["packed"]) for row in rows]
        return await asyncio.to_thread(unpack, pieces, start, end)

    async def _insert(self, chunks: Sequence[OutputChunk], packed: list[bytes]) -> None:
        await self._database.fetch(
            _Q["append"],
            run_ids=[chunk.run_id for chunk in chunks],
            due_ats=[due_of(chunk.run_id) for chunk in chunks],
            numbers=[chunk.number for chunk in chunks],
            begins=[chunk.offset for chunk in chunks],
            lengths=[len(chunk.text) for chunk in chunks],
            packed=packed,
        )
