"""Migrations: numbered SQL files, applied once each, in order, under a lock."""

from __future__ import annotations

import re
from importlib.resources import files

import asyncpg
import msgspec
import structlog

from matins.domain.errors import ConflictError, SettingsError, UnavailableError
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

    Raises ConflictError when the database is newer than this version, SettingsError when it refuses
    us, UnavailableError when it can't be reached.
    """
    async with driver_errors():
        session = await _connect(dsn, command_timeout=600)
        try:
            async with session.transaction():
                return await _apply(session)
        finally:
            await session.close(timeout=5)


async def check_database(dsn: str) -> None:
    """Raise an error where a role can't work, and waiting would not help.

    SettingsError: the database refuses us, or is not there. ConflictError: its schema is older than
    this version. One that can't be reached at all is waited for, as it is later on.
    """
    try:
        async with driver_errors():
            session = await _connect(dsn, command_timeout=10)
            try:
                schema = await _schema(session)
            finally:
                await session.close(timeout=5)
    except UnavailableError as error:
        log.warning("database.away", error=str(error))
        return
    if schema < migrations()[-1].number:
        state = f"at migration {schema}" if schema else "empty"
        raise ConflictError(
            f"the database is {state}, and this version needs migration {migrations()[-1].number};"
            " run `matins migrate` first"
        )


async def _connect(dsn: str, *, command_timeout: float) -> asyncpg.Connection:
    """Connect; an error that only other settings mend is a SettingsError."""
    try:
        return await asyncpg.connect(dsn, timeout=10, command_timeout=command_timeout)
    except asyncpg.InvalidAuthorizationSpecificationError as error:
        raise SettingsError(f"MATINS_POSTGRES: PostgreSQL refuses to let us in: {error}") from error
    except asyncpg.InvalidCatalogNameError as error:
        told = f"{error}; make it (createdb), or name another one"
        raise SettingsError(f"MATINS_POSTGRES: {told}") from error
    except ValueError as error:  # its text may repeat a password
        raise SettingsError("MATINS_POSTGRES can't be read as the address of a database") from error


async def _schema(session: asyncpg.Connection) -> int:
    """The last migration that was applied; 0 where none was."""
    try:
        found: int | None = await session.fetchval("SELECT max(number) FROM migrations")
    except asyncpg.UndefinedTableError:
        return 0
    return found or 0


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
