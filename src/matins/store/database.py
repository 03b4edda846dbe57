"""Connections to PostgreSQL: pools with a deadline on everything, and errors of our own tree."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from copy import copy
from datetime import datetime

import asyncpg

from matins.domain.values.errors import BlockedError, UnavailableError
from matins.store.queries import Query, load_queries
from matins.store.server import DRIVER_ERRORS, Server, Session

_Q = load_queries("database.sql")

Fetch = Callable[..., Awaitable[list[asyncpg.Record]]]
"""Runs a query with what is given for its parameters, in whatever session is meant."""

DEADLINE_S = 8.0
"""The longest that a statement or the wait for a connection may take: less than a lease, unless
that is set to be short.
"""

AWAY = (
    *("08", "25", "28", "3D", "3F", "40", "53", "55", "57", "58"),
    *("42501", "42P01"),
)
"""SQLSTATEs, or classes of them, that tell of the server and not of the statement, so that the same
statement may be repeated: the connection, a read-only or ended transaction, our rights and tables
that are gone (a password is rotated, a database restored), a conflict, resources, locks, a
shutdown, a disk. All others, such as bad values (22, 23), are raised as they are: repeated, they
would fail again.
"""

_ENDED = (
    asyncpg.ReadOnlySQLTransactionError,  # 25006: a standby, or a primary that was made one
    asyncpg.AdminShutdownError,  # 57P01, 57P02, 57P03: the server goes, or is not there yet
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
)
"""What no session recovers from: a new one finds the way to a server that can write."""

# The hot statements join a few hundred given rows with large tables by key. Any other plan is a
# trap that stale statistics lay: with these off, the planner is left with the nested loop. Bitmaps
# too: it would walk all of a second index for each row, to intersect it with what a key finds.
_BY_KEY_ONLY = {
    "plan_cache_mode": "force_generic_plan",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_material": "off",
    "enable_bitmapscan": "off",
    "enable_seqscan": "off",
    "jit": "off",
}


@asynccontextmanager
async def driver_errors() -> AsyncIterator[None]:
    """Turn what says "not now" or "answer lost" into UnavailableError; let the rest through."""
    try:
        yield
    except asyncpg.LockNotAvailableError as error:
        raise BlockedError(f"PostgreSQL: {error}") from error
    except DRIVER_ERRORS as error:
        if isinstance(error, asyncpg.PostgresError) and not (error.sqlstate or "").startswith(AWAY):
            raise
        raise UnavailableError(f"PostgreSQL: {type(error).__name__}: {error}") from error


def session_settings(
    name: str, *, by_key_only: bool, deadline_s: float, lock_s: float | None = None
) -> dict[str, str]:
    """Return the server's settings of a session: no statement, lock or idle transaction may
    outlast us.

    `lock_s`: how long it waits for a lock; half of the deadline if that is not told.
    """
    settings = {
        "application_name": f"matins {name}",
        "statement_timeout": str(int(deadline_s * 1000)),
        "lock_timeout": str(int((lock_s or deadline_s / 2) * 1000)),
        # A process that stands still within a change keeps the job's owner and others waiting.
        "idle_in_transaction_session_timeout": str(int(deadline_s * 600)),
        "timezone": "UTC",
    }
    return settings | (_BY_KEY_ONLY if by_key_only else {})


async def _keep_as_it_is(_session: object) -> None:
    """Sessions keep what they were set to: nothing that runs in them changes it."""


class Database:
    """A pool of sessions. It connects when first used, and again after every loss by itself.

    A call holds for one era of the server: it fails when another one begins meanwhile. `now` gives
    the time for statements: None, in production, means the database's own clock.
    """

    def __init__(
        self,
        server: Server | str,
        *,
        name: str,
        size: int = 4,
        by_key_only: bool = False,
        deadline_s: float = DEADLINE_S,
        lock_s: float | None = None,
        now: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        """`server` is shared by the pools of a process; a DSN makes one for this pool alone."""
        self.server = Server(server) if isinstance(server, str) else server
        self.now = now
        self._deadline_s = deadline_s
        self._settings = session_settings(
            name, by_key_only=by_key_only, deadline_s=deadline_s, lock_s=lock_s
        )
        self._era: int | None = None
        self._pool = asyncpg.create_pool(
            connect=self._connect,
            min_size=0,
            max_size=size,
            max_inactive_connection_lifetime=300,
            reset=_keep_as_it_is,  # the default one costs a round trip for each statement
        )
        self._opened = asyncio.Event()
        self._opening = asyncio.Lock()

    def pinned(self) -> Database:
        """Return the same pool for the present era only: every later call of it fails."""
        pinned = copy(self)
        pinned._era = self.server.era  # noqa: SLF001 # of its own kind
        return pinned

    async def fetch(self, query: Query, **args: object) -> list[asyncpg.Record]:
        """Run one autocommit statement. `:now` is filled in by this database's `now`."""
        async with self.session() as session:
            return await session.fetch(query.sql, *self.ordered(query, args))

    async def fetchrow(self, query: Query, **args: object) -> asyncpg.Record | None:
        """Run one autocommit statement that gives at most one row."""
        async with self.session() as session:
            return await session.fetchrow(query.sql, *self.ordered(query, args))

    async def run(
        self, session: asyncpg.pool.PoolConnectionProxy, query: Query, **args: object
    ) -> list[asyncpg.Record]:
        """Run one statement in a session, as `fetch` does."""
        return await session.fetch(query.sql, *self.ordered(query, args))

    async def clock(self, session: asyncpg.pool.PoolConnectionProxy | None = None) -> datetime:
        """Return the database's clock, read now; within a session, if one is given."""
        query = _Q["clock"]
        rows = await (self.run(session, query) if session else self.fetch(query))
        now: datetime = rows[0]["now"]
        return now

    async def make_team(self, session: asyncpg.pool.PoolConnectionProxy, team: str) -> None:
        """Make a team on first use."""
        await self.run(session, _Q["make_team"], team=team)

    def ordered(self, query: Query, args: dict[str, object]) -> list[object]:
        """Return the arguments of a query in order, with `:now` filled in."""
        if "now" in query.parameters:
            args.setdefault("now", self.now())
        return query.arguments(args)

    @asynccontextmanager
    async def session(self) -> AsyncIterator[asyncpg.pool.PoolConnectionProxy]:
        """A session for several statements; each one commits alone unless in a transaction."""
        era = self.server.era if self._era is None else self._era
        async with driver_errors(), self._acquire(era) as session:
            try:
                yield session
            except _ENDED:
                session.terminate()
                await self._pool.expire_connections()
                raise
            self._check(era)

    @asynccontextmanager
    async def _acquire(self, era: int) -> AsyncIterator[asyncpg.pool.PoolConnectionProxy]:
        """A session of this era; those of an earlier one are closed on the way."""
        await self._open()
        while True:
            async with self._pool.acquire(timeout=self._deadline_s) as session:
                self._check(era)
                if session.era == era:  # type: ignore[attr-defined] # the proxy has all of Session
                    yield session
                    return
                session.terminate()

    def _check(self, era: int) -> None:
        if self.server.era != era:
            raise UnavailableError("PostgreSQL: another server has taken over meanwhile")

    async def _connect(self, *_address: object, **_settings: object) -> Session:
        """Open a session for the pool, in the place of its own way to connect."""
        return await self.server.connect(self._settings, self._deadline_s)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[asyncpg.pool.PoolConnectionProxy]:
        """A session in a READ COMMITTED transaction; never wait for anything else inside."""
        async with self.session() as session, session.transaction():
            yield session

    async def close(self) -> None:
        """Give all connections back; those that hang are cut off."""
        if not self._opened.is_set():
            return
        try:
            async with asyncio.timeout(2.0):
                await self._pool.close()
        except TimeoutError:
            self._pool.terminate()

    async def _open(self) -> None:
        if not self._opened.is_set():
            async with self._opening:
                if not self._opened.is_set():
                    await self._pool
                    self._opened.set()


async def check_writable(*databases: Database) -> None:
    """Raise UnavailableError unless something can be written through each of these pools."""
    await asyncio.gather(*(database.fetch(_Q["writable"]) for database in databases))


async def can_write(*databases: Database, within_s: float = 2.0) -> bool:
    """Return whether something can be written through each of these pools."""
    try:
        async with asyncio.timeout(within_s):
            await check_writable(*databases)
    except (UnavailableError, TimeoutError):
        return False
    return True
