"""Migrations: numbered SQL files, applied once each, in order, while the version before works on.

A file is one transaction. It waits for a lock only briefly, since all who come later wait behind
it, and is tried again after a pause. A file that begins with `-- concurrently` holds nothing but
CREATE INDEX CONCURRENTLY IF NOT EXISTS and DROP INDEX CONCURRENTLY IF EXISTS, and is run outside of
transactions, statement by statement.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from functools import partial
from importlib.resources import files
from itertools import count
from typing import Final

import asyncpg
import msgspec
import structlog

from matins.domain.values.errors import ConflictError, UnavailableError
from matins.kernel.clock import elapsed_s
from matins.store.database import driver_errors
from matins.store.queries import load_queries
from matins.store.server import CONNECT_S, Server, Session

log = structlog.get_logger()

PATIENCE_S: Final = 600.0
"""How long a migration may take, and how long it is tried again while others hold its tables."""

LOCK_S: Final = 0.5
"""How long, in seconds, a migration waits for a lock, and with it whoever comes after it. Claims
give up sooner, and send again what was blocked."""

PAUSES_S = (1.0, 2.0, 4.0)
"""Between the tries, for all who waited; the last one again and again."""

_LOCK = 0x6D6174696E73  # "matins" in ASCII
_FILE = re.compile(r"(\d{4})_\w+\.sql")
_CONCURRENT = "-- concurrently"
_INDEX = re.compile(r"INDEX CONCURRENTLY IF NOT EXISTS (\w+)")
_Q = load_queries("migrate.sql")

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
    """Return all migrations that this version knows, in order."""
    folder = files("matins.store") / "migrations"
    every = [
        Migration(int(match[1]), file.name, file.read_text("utf-8"))
        for file in folder.iterdir()
        if (match := _FILE.fullmatch(file.name))
    ]
    return sorted(every, key=lambda migration: migration.number)


async def migrate(dsn: str, *, patience_s: float = PATIENCE_S) -> list[str]:
    """Bring the schema up to date; gives the names of what was applied. Safe to run side by side.

    Raises ConflictError when the database is newer than this version, SettingsError when it refuses
    us, UnavailableError when it can't be reached, or others hold what is to be changed for longer
    than `patience_s`.
    """
    settings = {"application_name": "matins migrate", "lock_timeout": str(int(LOCK_S * 1000))}
    async with driver_errors():
        session = await Server(dsn).connect(settings, PATIENCE_S)
        try:
            await _patiently(session, partial(_take_turn, session), patience_s)
            applied = []
            for migration in _missing(await session.fetch("SELECT number FROM migrations")):
                await _patiently(session, partial(_apply, session, migration), patience_s)
                log.info("migration.applied", migration=migration.name)
                applied.append(migration.name)
            return applied
        finally:
            await session.close(timeout=5)


async def check_database(server: Server) -> None:
    """Raise an error where a role can't work, and waiting would not help.

    SettingsError: the database refuses us, or is not there. ConflictError: its schema is older than
    this version. One that can't be reached at all is waited for, as it is later on.
    """
    try:
        async with driver_errors():
            session = await server.connect({"application_name": "matins check"}, CONNECT_S)
            try:
                schema = await _schema(session)
            finally:
                await session.close(timeout=CONNECT_S)
    except UnavailableError as error:
        log.warning("database.away", error=str(error))
        return
    if schema < migrations()[-1].number:
        state = f"at migration {schema}" if schema else "empty"
        raise ConflictError(
            f"the database is {state}, and this version needs migration {migrations()[-1].number};"
            " run `matins migrate` first"
        )


async def _schema(session: Session) -> int:
    """Return the last migration that was applied; 0 where none was."""
    try:
        number: int | None = await session.fetchval("SELECT max(number) FROM migrations")
    except asyncpg.UndefinedTableError:
        return 0
    return number or 0


async def _take_turn(session: Session) -> None:
    """Be the only one who migrates, until the session ends."""
    await session.execute("SELECT pg_advisory_lock($1)", _LOCK)
    await session.execute(_LEDGER)


def _missing(done: list[asyncpg.Record]) -> list[Migration]:
    numbers = {row["number"] for row in done}
    known = migrations()
    if newer := numbers - {migration.number for migration in known}:
        raise ConflictError(
            f"the database has migration {max(newer)}, which this version of Matins does not know;"
            " start a version that is at least as new as the one that migrated it"
        )
    return [migration for migration in known if migration.number not in numbers]


async def _patiently(
    session: Session, step: Callable[[], Awaitable[None]], patience_s: float
) -> None:
    """Do a step again and again, until others let go of what it locks."""
    begun_s = elapsed_s()
    for tries in count():
        try:
            await step()
        except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError) as error:
            behind = "; ".join(row["told"] for row in await session.fetch(_Q["oldest"].sql))
            if elapsed_s() - begun_s >= patience_s:
                raise UnavailableError(
                    f"the schema can't be changed while others use it for {patience_s:g} s and"
                    f" longer; end them, or try again later: {behind}"
                ) from error
            log.warning("migration.waits", behind=behind)
            await asyncio.sleep(PAUSES_S[min(tries, len(PAUSES_S) - 1)])
        else:
            return


async def _apply(session: Session, migration: Migration) -> None:
    if migration.sql.startswith(_CONCURRENT):
        await _build_indexes(session, migration.sql)
    async with session.transaction():
        if not migration.sql.startswith(_CONCURRENT):
            await session.execute(migration.sql)
        await session.execute(
            "INSERT INTO migrations VALUES ($1, $2, clock_timestamp())",
            migration.number,
            migration.name,
        )


async def _build_indexes(session: Session, sql: str) -> None:
    """Build and drop indexes while others write. What an interrupted build left is no index."""
    for row in await session.fetch(_Q["broken_indexes"].sql, _INDEX.findall(sql)):
        await session.execute(f'DROP INDEX CONCURRENTLY "{row["name"]}"')
    # Nobody waits behind a session that waits here, so it may wait for as long as it takes.
    await session.execute("SET lock_timeout = 0")
    for statement in filter(str.strip, sql.split(";\n")):
        await session.execute(statement)
    await session.execute(f"SET lock_timeout = {int(LOCK_S * 1000)}")
