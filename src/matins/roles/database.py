"""The pools of a role's sessions with PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from matins.store.database import DEADLINE_S, Database
from matins.store.server import Server

HOT_LOCK_S = 0.25
"""How long claims, dequeues and ends wait for a lock before they go on without what is locked."""


@asynccontextmanager
async def open_database(
    server: Server,
    name: str,
    size: int,
    *,
    by_key_only: bool = False,
    deadline_s: float = DEADLINE_S,
    lock_s: float | None = None,
) -> AsyncIterator[Database]:
    """A pool that is closed at the end; see `Database`."""
    database = Database(
        server, name=name, size=size, by_key_only=by_key_only, deadline_s=deadline_s, lock_s=lock_s
    )
    try:
        yield database
    finally:
        await database.close()
