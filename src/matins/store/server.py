"""The PostgreSQL that a process works with: how it is reached, and whether it is still the same.

Sessions are opened here and nowhere else. Each learns which server it leads to; when that is
another one, or one that was restarted, a new era begins: what was read in the era before may have
no row any more (an asynchronous fail-over, a restore), so nothing may be written that rests on it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import asyncpg
import structlog
from asyncpg.connect_utils import SessionAttribute

from matins.domain.values.errors import SettingsError, UnavailableError
from matins.domain.values.lineage import Meeting, ServerId, meet
from matins.kernel.metrics import DATABASE_CHANGED, DATABASE_OLDER
from matins.kernel.service import Stopwatch, repeat
from matins.store.queries import load_queries

log = structlog.get_logger()

_Q = load_queries("server.sql")

REFUSALS = ("28", "3D", "42501")
"""SQLSTATEs, or classes of them, by which a server will not have us as we come: a wrong user or
password, no such database, no right to connect.

They end a process that never reached its server: somebody set it up wrongly, and waiting would hide
it. Whoever was let in once waits, whatever it is told: passwords are rotated, and databases
restored, under running roles.
"""

CONNECT_S = 5.0
"""The longest that opening a session may take, all hosts together."""

WATCH_S = 5.0
"""How often a process looks where the address leads."""

POOLED = (
    "leads to a connection pooler (such as pgbouncer), but Matins needs sessions of its own, for"
    " LISTEN, prepared statements and settings; give the address of PostgreSQL itself"
)

DRIVER_ERRORS = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
)
"""All that the driver raises; TimeoutError is an OSError."""

_HOSTS = re.compile(r"(\w+://(?:[^/?#]*@)?)([^/?#]*)(.*)", re.DOTALL)
"""A DSN: up to its user, its hosts, and the rest."""

_POOLERS = (
    asyncpg.ProtocolViolationError,  # what pgbouncer says of everything: of our settings first
    asyncpg.InvalidSQLStatementNameError,
    asyncpg.DuplicatePreparedStatementError,
)
_NO_LINEAGE = (
    asyncpg.FeatureNotSupportedError,
    asyncpg.InsufficientPrivilegeError,
    asyncpg.UndefinedFunctionError,
)


class _PooledError(UnavailableError):
    """Something between us and PostgreSQL gives its sessions to others as well."""


_BUILT_IN = 16_384
"""Below this, a type's number is the same in every database (FirstNormalObjectId)."""


class _NotAsked(NamedTuple):
    """In the place of the driver's statement, whose name tells that it replaced no other."""

    name: str = "none"


_known_types: dict[int, asyncpg.Record] = {}
"""What the driver has asked about PostgreSQL's own types, for all sessions of the process."""


class Session(asyncpg.Connection):
    """A session that knows in which era it was opened."""

    __slots__ = ("era",)

    era: int

    async def _introspect_types(
        self, typeoids: Iterable[int], *bound: float | None
    ) -> tuple[Sequence[asyncpg.Record], object]:
        """Tell the driver what types are. It asks in each session anew, array by array; that takes
        the server 10 ms with the plans of hot statements.
        """
        wanted = set(typeoids)
        if wanted <= _known_types.keys():
            return list(_known_types.values()), _NotAsked()
        types, statement = await super()._introspect_types(wanted, *bound)  # type: ignore[misc] # private
        _known_types.update({row["oid"]: row for row in types if row["oid"] < _BUILT_IN})
        return types, statement


class Server:
    """The server behind a DSN, as one process knows it; its pools share it.

    The DSN may name several hosts: of those, sessions go to the one that can be written.
    """

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.era = 0
        """Rises when a server is met that may lack what the one before had acknowledged."""
        self.is_known = False
        """Whether any session was opened yet."""
        self._known: ServerId | None = None
        self._hosts = hosts_of(dsn)
        self._forget: list[Callable[[], None]] = []
        self._begun = asyncio.Event()

    def when_changed(self, forget: Callable[[], None]) -> None:
        """Call this at the beginning of each new era, before anything is done in it."""
        self._forget.append(forget)

    async def changed(self, era: int) -> None:
        """Return once an era is over."""
        while self.era == era:
            await self._begun.wait()

    async def connect(self, settings: Mapping[str, str], deadline_s: float) -> Session:
        """Open a session that can write, at the first host that has one.

        `settings` are the server's, for the session; `deadline_s` bounds each of its statements.
        Raises UnavailableError; SettingsError if no session was opened yet and none ever will be.
        """
        refusals: list[Exception] = []
        for host in list(self._hosts):
            try:
                session = await asyncpg.connect(
                    host,
                    timeout=min(deadline_s, CONNECT_S) / len(self._hosts),
                    command_timeout=deadline_s,
                    server_settings=dict(settings),
                    target_session_attrs=SessionAttribute.read_write,
                    connection_class=Session,
                )
                await self._meet(session, deadline_s)
            except (*DRIVER_ERRORS, UnavailableError) as error:
                refusals.append(_PooledError(POOLED) if isinstance(error, _POOLERS) else error)
                self._hosts.remove(host)
                self._hosts.append(host)
            else:
                self.is_known = True
                DATABASE_OLDER.set(0)
                return session
        raise self._refusal(refusals)

    async def _meet(self, session: Session, deadline_s: float) -> None:
        """Learn which server a session leads to. Raises UnavailableError for one not to be used."""
        try:
            row = await _introduce(session, deadline_s)
            if row["pid"] != session.get_server_pid():
                raise _PooledError(POOLED)  # noqa: TRY301 # it ends the session as all others do
            self.judge(ServerId(row["system"], row["timeline"], row["started_at"]))
        except BaseException:
            session.terminate()
            raise
        session.era = self.era

    def judge(self, current: ServerId) -> None:
        """Take note of a server that a session leads to. Raises UnavailableError if it is older."""
        meeting = meet(self._known, current)
        if meeting is Meeting.OLDER:
            DATABASE_OLDER.set(1)
            log.error("database.older", known=_describe(self._known), met=_describe(current))
            raise UnavailableError(
                f"the address leads to an older primary (timeline {current.timeline}) than was used"
                " last; let it lead to the newer one, or restart all roles to go on from the older"
            )
        if meeting is Meeting.OTHER:
            self.begin_era(f"{_describe(current)} answers in the place of {_describe(self._known)}")
        self._known = current

    def begin_era(self, why: str) -> None:
        """Take what was read so far for void: the database may lack what it acknowledged."""
        log.error("database.changed", why=why)
        self.era += 1
        DATABASE_CHANGED.inc()
        for forget in self._forget:
            forget()
        begun, self._begun = self._begun, asyncio.Event()
        begun.set()

    def _refusal(self, errors: list[Exception]) -> Exception:
        """Return what to raise when no host can be used."""
        if not self.is_known and all(map(_refused, errors)):
            return SettingsError(f"MATINS_POSTGRES: {_refused(errors[0])}")
        return UnavailableError("PostgreSQL: " + "; ".join(map(_words, errors)))


class ServerWatch:
    """Looks where the address leads by now; sessions that are open lead where it led before.

    By it a process also learns at its start that it can't have a session. See
    `kernel.service.Service`.
    """

    def __init__(self, server: Server, clock: Stopwatch) -> None:
        self._server = server
        self._clock = clock
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Look again and again until stopped. Raises SettingsError, as `Server.connect` does."""
        await repeat(self._look, WATCH_S, self._clock, self._stopping, name="server.watch")

    async def stop(self) -> None:
        """End soon."""
        self._stopping.set()

    async def _look(self) -> None:
        session = await self._server.connect({"application_name": "matins watch"}, CONNECT_S)
        await session.close(timeout=CONNECT_S)


def hosts_of(dsn: str) -> list[str]:
    """Return a DSN for each host that a DSN names before its path; its query is left as it is.

    Our order, and a share of the time for each: the driver would wait for the first one only.
    """
    parts = _HOSTS.fullmatch(dsn)  # urlsplit refuses several hosts with an IPv6 one among them
    if parts is None:
        return [dsn]
    before, hosts, after = parts.groups()
    return [f"{before}{host}{after}" for host in hosts.split(",")]


async def _introduce(session: Session, deadline_s: float) -> asyncpg.Record:
    """Ask a new session where it leads, and let its transactions last two deadlines at most.

    A statement whose client froze, or lost power, between its Execute and its Sync waits with all
    its locks for the Sync: neither as a statement nor as an idle transaction.
    """
    args = {"transaction_timeout": str(int(deadline_s * 2000))}
    try:
        row = await session.fetchrow(_Q["meet"].sql, *_Q["meet"].arguments(args))
    except _NO_LINEAGE:  # not every managed PostgreSQL tells it
        brief = _Q["meet_briefly"]
        row = await session.fetchrow(brief.sql, *brief.arguments(args))
    assert row is not None
    return row


def _refused(error: Exception) -> str:
    """Return what has to be mended before a session can be had; empty if waiting may be enough."""
    match error:
        case _PooledError():
            return POOLED
        case asyncpg.ClientConfigurationError():  # its text may repeat a password
            return "can't be read as the address of a database"
        case asyncpg.InvalidCatalogNameError():
            return f"{error}; make it (createdb), or name another one"
        case asyncpg.PostgresError() if (error.sqlstate or "").startswith(REFUSALS):
            return f"PostgreSQL refuses to let us in: {error}"
    return ""


def _words(error: Exception) -> str:
    if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
        return "it takes no writes: a standby, or one that was made read-only"
    message = str(error)
    return message if isinstance(error, UnavailableError) else f"{type(error).__name__}: {message}"


def _describe(server: ServerId | None) -> str:
    assert server is not None
    started_at = server.started_at.isoformat()
    return f"cluster {server.system}, timeline {server.timeline}, started {started_at}"
