"""Migrations: numbered SQL files, applied once each, in order, under a lock."""

from __future__ import annotations

import re
from importlib.resources import files

import asyncpg
import msgspec
import structlog

from matins.domain.errors import ConflictError
from matins.store.database import driver_errors

log = structlog.get_logger()

_LOCK = 0x6D6174696E73  # "matins" in ASCII
_FILE = re.compile(r"(\d{4})_\w+\.sql")

_LEDGER = """
CREATE TABLE IF NOT EXISTS migrations (
    number integer PRIMARY KEY,
    name text NOT NULL,
    applied_at timestamptz NOT NULL
)
"""


class Migration(msgspec.Struct, frozen=True):
    """One numbered file. It is never edited once it was released."""

    number: int
    name: str
    sql: str


def migrations() -> list[Migration]:
    """All migrations that this version knows, in order."""
    folder = files("matins.store") / "migrations"
    found = [
        Migration(int(match[1]), file.name, file.read_text("utf-8"))
        for file in folder.iterdir()
        if (match := _FILE.fullmatch(file.name))
    ]
    return sorted(found, key=lambda migration: migration.number)


async def migrate(dsn: str) -> list[str]:
    """Bring the schema up to date; gives the names of what was applied. Safe to run side by side.

    Raises ConflictError when the database is newer than this version, UnavailableError when it
    can't be reached.
    """
    async with driver_errors():
        session = await asyncpg.connect(dsn, timeout=10, command_timeout=600)
        try:
            async with session.transaction():
                return await _apply(session)
        finally:
            await session.close(timeout=5)


async def _apply(session: asyncpg.Connection) -> list[str]:
    await session.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
    await session.execute(_LEDGER)
    known = migrations()
    done = {row["number"] for row in await session.fetch("SELECT number FROM migrations")}
    if newer := done - {migration.number for migration in known}:
        raise ConflictError(
            f"the database has migration {max(newer)}, which this version of Matins does not know;"
            " start a version that is at least as new as the one that migrated it"
        )
    applied = []
    for migration in known:
        if migration.number not in done:
            await session.execute(migration.sql)
            await session.execute(
                "INSERT INTO migrations VALUES ($1, $2, clock_timestamp())",
                migration.number,
                migration.name,
            )
            log.info("migration.applied", migration=migration.name)
            applied.append(migration.name)
    return applied
