"""Sessions: where they may lead, what ends them, and what is waited for."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import asyncpg
import pytest
from tests.e2e.cluster import until

from matins.domain.values.errors import SettingsError, UnavailableError
from matins.domain.values.lineage import ServerId
from matins.engines.accounts import server_account
from matins.engines.processes import ServerProcess as Process
from matins.store.database import Database, can_write, check_writable
from matins.store.hints import PostgresHints
from matins.store.queries import Query
from matins.store.server import POOLED, Server, hosts_of
from matins.testing.proxy import Proxy

ELSEWHERE = ServerId(system=1, timeline=1, started_at=datetime(2026, 11, 30, tzinfo=UTC))
SLEEP = Query("sleep", "SELECT pg_sleep(0.3)", ())
ONE = Query("one", "SELECT 1 AS one", ())


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    database = Database(dsn, name="test", size=1)
    yield database
    await database.close()


def socket_of(dsn: str) -> Path:
    query = parse_qs(urlsplit(dsn).query)
    return Path(query["host"][0]) / f".s.PGSQL.{query['port'][0]}"


def over_tcp(dsn: str, *ports: int) -> str:
    """Return the same database behind these ports of 127.0.0.1."""
    parts = urlsplit(dsn)
    hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
    return f"postgresql://{parts.username}:{parts.password}@{hosts}{parts.path}?sslmode=disable"


def test_a_dsn_of_several_hosts_is_one_for_each() -> None:
    assert hosts_of("postgresql://u:p@a:1,b,[::1]:2/d?x=y") == [
        "postgresql://u:p@a:1/d?x=y",
        "postgresql://u:p@b/d?x=y",
        "postgresql://u:p@[::1]:2/d?x=y",
    ]
    for single in ("postgresql://u:p@a/d", "postgresql:///d?host=/run/a", "postgresql://u@/d"):
        assert hosts_of(single) == [single]


@pytest.mark.parametrize("fault", ["cut", "hole"])
async def test_the_next_host_is_tried(dsn: str, fault: str) -> None:
    socket = socket_of(dsn)
    async with Proxy(socket) as first, Proxy(socket) as second:
        getattr(first, fault)()
        database = Database(over_tcp(dsn, first.port, second.port), name="t", deadline_s=2.0)
        await check_writable(database)
        assert second.connections == 1
        await database.close()


async def test_a_session_that_turns_out_read_only_is_replaced(database: Database) -> None:
    """PG-02."""
    async with database.session() as session:
        before = session.get_server_pid()
        await session.execute("SET default_transaction_read_only = on")
    with pytest.raises(UnavailableError):
        await check_writable(database)
    await check_writable(database)
    async with database.session() as session:
        assert session.get_server_pid() != before


async def test_no_session_is_opened_at_a_server_that_can_t_be_written(
    dsn: str, database: Database
) -> None:
    name = urlsplit(dsn).path[1:]
    admin = await asyncpg.connect(dsn)
    await admin.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with pytest.raises(UnavailableError):
        await database.fetch(ONE)
    assert not await can_write(database)
    await admin.execute("SET default_transaction_read_only = off")
    await admin.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
    assert await can_write(database)
    await admin.close()


async def test_who_was_let_in_once_waits_while_the_password_is_another(
    dsn: str, database: Database
) -> None:
    parts = urlsplit(dsn)
    await database.fetch(ONE)
    admin = await asyncpg.connect(dsn)
    await admin.execute(f"ALTER ROLE {parts.username} PASSWORD 'another'")
    try:
        await _end_sessions(admin)
        with pytest.raises(UnavailableError):
            await database.fetch(ONE)
        newcomer = Database(dsn, name="newcomer")
        with pytest.raises(SettingsError, match="MATINS_POSTGRES: PostgreSQL refuses to let us in"):
            await newcomer.fetch(ONE)
    finally:
        await admin.execute(f"ALTER ROLE {parts.username} PASSWORD '{parts.password}'")
        await admin.close()
    assert await database.fetch(ONE)


async def test_a_table_that_is_gone_for_a_moment_is_waited_for(database: Database) -> None:
    async with database.session() as session:
        await session.execute("ALTER TABLE partitions RENAME TO elsewhere")
    with pytest.raises(UnavailableError):
        await check_writable(database)
    async with database.session() as session:
        await session.execute("ALTER TABLE elsewhere RENAME TO partitions")
    await check_writable(database)


async def test_a_statement_that_is_wrong_is_raised_as_it_is(database: Database) -> None:
    with pytest.raises(asyncpg.PostgresSyntaxError):
        await database.fetch(Query("wrong", "SELEKT 1", ()))
    with pytest.raises(asyncpg.DivisionByZeroError):
        await database.fetch(Query("wrong", "SELECT 1/0", ()))


async def test_what_began_in_one_era_does_not_end_in_another(database: Database) -> None:
    await database.fetch(ONE)
    asking = asyncio.create_task(database.fetch(SLEEP))
    await until(lambda: _sleeps(database), 10, 0.01)
    database.server.judge(ELSEWHERE)
    with pytest.raises(UnavailableError):
        await asking


async def test_a_pool_pinned_to_an_era_is_of_no_use_in_the_next(database: Database) -> None:
    pinned = database.pinned()
    assert await pinned.fetch(ONE)
    forgotten: list[bool] = []
    database.server.when_changed(lambda: forgotten.append(True))
    over = asyncio.create_task(database.server.changed(database.server.era))
    database.server.judge(ELSEWHERE)
    await over
    assert forgotten == [True]
    with pytest.raises(UnavailableError):
        await pinned.fetch(ONE)


async def test_sessions_of_an_era_that_is_over_are_not_used_again(database: Database) -> None:
    async with database.session() as session:
        before = session.get_server_pid()
    database.server.judge(ELSEWHERE)
    with pytest.raises(UnavailableError):  # the new session leads back: yet another era
        await database.fetch(ONE)
    async with database.session() as session:
        assert session.get_server_pid() != before


async def test_who_listens_goes_along_to_the_next_server(database: Database) -> None:
    words = PostgresHints(database).listen("jobs")
    assert await anext(words) == ""
    database.server.judge(ELSEWHERE)
    session = await asyncpg.connect(database.server.dsn)
    await session.execute("NOTIFY matins_jobs, 'of the server before'")
    assert await anext(words) == ""  # a gap: look at everything
    await session.execute("NOTIFY matins_jobs, 'now'")
    assert await anext(words) == "now"
    await session.close()
    await words.aclose()  # type: ignore[attr-defined] # it is a generator


async def test_what_a_type_is_is_asked_once_for_all_sessions(dsn: str) -> None:
    asked = 0
    server = Server(dsn)

    def note(query: asyncpg.connection.LoggedQuery) -> None:
        nonlocal asked
        asked += "typeinfo_tree" in query.query

    arrays = "SELECT $1::uuid[], $2::int4range[], $3::int8multirange"
    values = ([uuid4()], [asyncpg.Range(1, 2)], [asyncpg.Range(3, 4)])
    for number in range(3):
        session = await server.connect({}, 5.0)
        session.add_query_logger(note)
        [row] = await session.fetch(arrays, *values)
        assert tuple(row) == values
        await session.close()
        if not number:
            asked = 0  # the first of the process may have to ask
    assert not asked


async def test_an_older_primary_is_refused(database: Database) -> None:
    await database.fetch(ONE)
    async with database.session() as session:
        system = await session.fetchval("SELECT system_identifier FROM pg_control_system()")
        await session.execute("SET default_transaction_read_only = on")  # its last statement
    database.server.judge(ServerId(system, 2, datetime(2026, 11, 30, tzinfo=UTC)))
    with pytest.raises(UnavailableError, match="older primary"):
        await database.fetch(ONE)


@pytest.mark.skipif(shutil.which("pgbouncer") is None, reason="there is no pgbouncer here")
@pytest.mark.parametrize("takes_settings", [False, True])
async def test_a_pooler_is_refused_with_one_sentence(
    dsn: str, tmp_path: Path, takes_settings: bool
) -> None:
    """PG-08."""
    async with pooler(dsn, tmp_path, takes_settings=takes_settings) as pooled:
        server = Server(pooled)
        with pytest.raises(SettingsError) as refusal:
            await server.connect({"statement_timeout": "9999"}, 5.0)
        assert str(refusal.value) == f"MATINS_POSTGRES: {POOLED}"


@asynccontextmanager
async def pooler(dsn: str, folder: Path, *, takes_settings: bool) -> AsyncIterator[str]:
    """A pgbouncer in transaction mode; gives the DSN that leads through it."""
    parts, socket = urlsplit(dsn), socket_of(dsn)
    account = server_account()
    name = parts.path[1:]
    folder = Path(shutil.copytree(folder, socket.parent / "pooler"))
    conf = folder / "pgbouncer.ini"
    conf.write_text(
        f"[databases]\n{name} = host={socket.parent} port=5432\n[pgbouncer]\n"
        f"listen_addr =\nunix_socket_dir = {folder}\nlisten_port = 6432\nauth_type = plain\n"
        f"auth_file = {folder / 'users'}\npool_mode = transaction\n"
        + ("ignore_startup_parameters = statement_timeout\n" if takes_settings else "")
    )
    (folder / "users").write_text(f'"{parts.username}" "{parts.password}"\n')
    for path in (folder, conf, folder / "users"):
        if account is not None:
            shutil.chown(path, account.uid, account.gid)
    program = Path(str(shutil.which("pgbouncer")))
    process = Process([program, conf], account, folder / "log")
    try:
        await until((folder / ".s.PGSQL.6432").exists, 10, 0.02)
        login = f"{parts.username}:{parts.password}"
        yield f"postgresql://{login}@/{name}?host={folder}&port=6432"
    finally:
        await process.stop([])
        shutil.rmtree(folder)


async def _end_sessions(admin: asyncpg.Connection) -> None:
    """End all other sessions of this database, and wait until they are gone."""
    others = "datname = current_database() AND pid <> pg_backend_pid()"
    await admin.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")

    async def gone() -> bool:
        count = await admin.fetchval(f"SELECT count(*) FROM pg_stat_activity WHERE {others}")
        return bool(count == 0)

    await until(gone, 10, 0.01)


async def _sleeps(database: Database) -> bool:
    session = await asyncpg.connect(database.server.dsn)
    found = await session.fetchval(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    )
    await session.close()
    return bool(found)
