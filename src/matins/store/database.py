"""Connections to PostgreSQL: pools with a deadline on everything, and errors of our own tree."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial

import asyncpg
import structlog

from matins.domain.errors import UnavailableError
from matins.store.queries import Query, load_queries

log = structlog.get_logger()

_Q = load_queries("database.sql")

Fetch = Callable[..., Awaitable[list[asyncpg.Record]]]
"""Runs a query with what is given for its parameters, in whatever session is meant."""

DEADLINE_S = 10.0
"""The longest that a statement, a connect or the wait for a connection may take."""

_AWAY = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.OperatorInterventionError,  # 57: shutting down, starting up, cancelled by a time-out
    asyncpg.InsufficientResourcesError,  # 53: too many connections, disk full
    asyncpg.TransactionRollbackError,  # 40: deadlock, serialization
    asyncpg.LockNotAvailableError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.TransactionTimeoutError,
    asyncpg.InvalidAuthorizationSpecificationError,  # 28: a role that runs saw better days
    asyncpg.InvalidCatalogNameError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)

# The hot statements join a few hundred given rows with large tables by key. Any other plan is a
# trap that stale statistics lay: with these off, the planner is left with the nested loop.
_BY_KEY_ONLY = {
    "plan_cache_mode": "force_generic_plan",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_material": "off",
    "enable_seqscan": "off",
    "jit": "off",
}


@asynccontextmanager
async def driver_errors() -> AsyncIterator[None]:
    """Turn what says "not now" or "answer lost" into UnavailableError; let the rest through."""
    try:
        yield
    except _AWAY as error:
        raise UnavailableError(f"PostgreSQL: {type(error).__name__}: {error}") from error


def session_settings(name: str, *, by_key_only: bool, deadline_s: float) -> dict[str, str]:
    """The server's settings of a session: no statement, lock or idle transaction may outlast us."""
    milliseconds = str(int(deadline_s * 1000))
    settings = {
        "application_name": f"matins {name}",
        "statement_timeout": milliseconds,
        "lock_timeout": str(int(deadline_s * 500)),
        "idle_in_transaction_session_timeout": milliseconds,
        "timezone": "UTC",
    }
    return settings | (_BY_KEY_ONLY if by_key_only else {})


async def _bound_transactions(session: asyncpg.Connection, deadline_s: float) -> None:
    """Have the server end a session whose transaction lasts twice a statement's deadline.

    A statement whose client froze, or lost power, between its Execute and its Sync waits with all
    its locks for the Sync: neither as a statement nor as an idle transaction. PostgreSQL below 17
    has no bound for that.
    """
    await session.execute(
        "SELECT set_config(name, $1, false) FROM pg_settings WHERE name = 'transaction_timeout'",
        str(int(deadline_s * 2000)),
    )


async def _keep_as_it_is(_session: object) -> None:
    """Sessions keep what they were set to: nothing that runs in them changes it."""


class Database:
    """A pool of sessions. It connects when first used, and again after every loss by itself.

    `now` gives the time for statements: None, in production, means the database's own clock.
    """

    def __init__(
        self,
        dsn: str,
        *,
        name: str,
        size: int = 4,
        by_key_only: bool = False,
        deadline_s: float = DEADLINE_S,
        now: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        self.dsn = dsn
        self.now = now
        self._name = name
        self._deadline_s = deadline_s
        self._pool = asyncpg.create_pool(
            dsn,
            min_size=0,
            max_size=size,
            max_inactive_connection_lifetime=300,
            command_timeout=deadline_s,
            timeout=min(deadline_s, 5.0),
            server_settings=session_settings(name, by_key_only=by_key_only, deadline_s=deadline_s),
            init=partial(_bound_transactions, deadline_s=deadline_s),
            reset=_keep_as_it_is,  # the default one costs a round trip for each statement
        )
        self._opened = False
        self._opening = asyncio.Lock()

    async def fetch(self, query: Query, **given: object) -> list[asyncpg.Record]:
        """Run one autocommit statement. `:now` is filled in by this database's `now`."""
        async with self.session() as session:
            return await session.fetch(query.sql, *self.ordered(query, given))

    async def fetchrow(self, query: Query, **given: object) -> asyncpg.Record | None:
        """Run one autocommit statement that gives at most one row."""
        async with self.session() as session:
            return await session.fetchrow(query.sql, *self.ordered(query, given))

    async def run(
        self, session: asyncpg.pool.PoolConnectionProxy, query: Query, **given: object
    ) -> list[asyncpg.Record]:
        """Run one statement in a session, as `fetch` does."""
        return await session.fetch(query.sql, *self.ordered(query, given))

    async def clock(self, session: asyncpg.pool.PoolConnectionProxy | None = None) -> datetime:
        """The database's clock, read now; within a session, if one is given."""
        query = _Q["clock"]
        rows = await (self.run(session, query) if session else self.fetch(query))
        now: datetime = rows[0]["now"]
        return now

    async def make_team(self, session: asyncpg.pool.PoolConnectionProxy, team: str) -> None:
        """Make a team on first use."""
        await self.run(session, _Q["make_team"], team=team)

    def ordered(self, query: Query, given: dict[str, object]) -> list[object]:
        """The arguments of a query in order, with `:now` filled in."""
        if "now" in query.parameters:
            given.setdefault("now", self.now())
        return query.arguments(given)

    @asynccontextmanager
    async def session(self) -> AsyncIterator[asyncpg.pool.PoolConnectionProxy]:
        """A session for several statements; each one commits alone unless in a transaction."""
        async with driver_errors():
            await self._open()
            async with self._pool.acquire(timeout=self._deadline_s) as session:
                yield session

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[asyncpg.pool.PoolConnectionProxy]:
        """A session in a READ COMMITTED transaction; never wait for anything else inside."""
        async with self.session() as session, session.transaction():
            yield session

    async def close(self) -> None:
        """Give all connections back; those that hang are cut off."""
        if not self._opened:
            return
        try:
            async with asyncio.timeout(2.0):
                await self._pool.close()
        except TimeoutError:
            self._pool.terminate()

    async def _open(self) -> None:
        if not self._opened:
            async with self._opening:
                if not self._opened:
                    await self._pool
                    self._opened = True
