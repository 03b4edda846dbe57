"""What many tests stand on: one real PostgreSQL and one real Valkey for the whole session, and a
certificate.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
import ssl
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
from hypothesis import HealthCheck, settings
from tests.folders import POSTGRES_PROGRAMS, make_folder
from tests.spread import Spread, in_order, piece_of

from matins.engines.postgres import EmbeddedPostgres
from matins.engines.valkey import EmbeddedValkey
from matins.store.database import Database
from matins.store.day_tables import PostgresDayTables
from matins.store.migrate import migrate
from matins.upkeep.days import make_days_ahead

# What runs in the background of a shell ignores Ctrl-C, and so would every process started here.
signal.signal(signal.SIGINT, signal.default_int_handler)

_names = count()

# A busy machine is no reason to fail, so nothing here looks at how long an example takes.
settings.register_profile(
    "suite",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("fuzz", settings.get_profile("suite"), derandomize=False)
settings.load_profile("suite")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Spread:
    """Spread the tests over several processes in our way, and in their order."""
    config.option.loadscopereorder = False
    return Spread(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Set the order in which the pieces of work are handed out to several processes."""
    if hasattr(config, "workerinput"):
        places = in_order(item.nodeid for item in items)
        items.sort(key=lambda item: places[piece_of(item.nodeid)])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say loudly that the web page was not tested, where it was not."""
    skipped = [
        report
        for report in terminalreporter.stats.get("skipped", [])
        if report.nodeid.startswith("tests/web/")
    ]
    if skipped:
        terminalreporter.section("THE WEB PAGE WAS NOT TESTED", sep="!", red=True, bold=True)
        terminalreporter.line(f"{len(skipped)} tests were skipped: {skipped[0].longrepr[2]}")


@pytest.fixture(scope="session")
def engine_folder() -> Iterator[Path]:
    """A short path that the servers' own account can reach."""
    folder = make_folder("matins-test-")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres(engine_folder: Path) -> Iterator[str]:
    """A running embedded PostgreSQL; gives the DSN of its `matins` database."""
    with asyncio.Runner() as runner:
        server = EmbeddedPostgres(engine_folder / "postgres", programs=POSTGRES_PROGRAMS)
        dsn = runner.run(server.start(settings={"fsync": "off", "full_page_writes": "off"}))
        yield dsn
        runner.run(server.stop())


@pytest.fixture(scope="session")
def valkey(engine_folder: Path) -> Iterator[str]:
    """A running embedded Valkey; gives its URL."""
    with asyncio.Runner() as runner:
        server = EmbeddedValkey(engine_folder / "valkey")
        url = runner.run(server.start())
        yield url
        runner.run(server.stop())


@pytest.fixture
async def dsn(postgres: str) -> AsyncIterator[str]:
    """A migrated database of the test's own."""
    async with fresh_database(postgres) as dsn:
        yield dsn


@pytest.fixture(scope="session")
def schema_dsn(postgres: str) -> Iterator[str]:
    """A migrated database for all tests that only look at it, and change nothing."""
    with asyncio.Runner() as runner:
        database = fresh_database(postgres)
        yield runner.run(database.__aenter__())
        runner.run(database.__aexit__(None, None, None))


@pytest.fixture
def self_signed(tmp_path: Path) -> ssl.SSLContext:
    """A server's context with a certificate for localhost that nobody signed."""
    if shutil.which("openssl") is None:
        pytest.skip("makes its certificate with openssl")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    named = ["-nodes", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*make, *named, *files], check=True, capture_output=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    return context


@pytest.fixture
def trusted(
    self_signed: ssl.SSLContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ssl.SSLContext:
    """The same context, of a server that this host trusts."""
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
    return self_signed


@asynccontextmanager
async def fresh_database(postgres: str) -> AsyncIterator[str]:
    """A migrated database that is dropped at the end; gives its DSN."""
    admin = await asyncpg.connect(postgres)
    try:
        async with _copy(admin, postgres, await _template(admin, postgres)) as dsn:
            yield dsn
    finally:
        await admin.close()


@asynccontextmanager
async def empty_database(postgres: str) -> AsyncIterator[str]:
    """An empty database that is dropped at the end; gives its DSN."""
    admin = await asyncpg.connect(postgres)
    try:
        async with _copy(admin, postgres, "template1") as dsn:
            yield dsn
    finally:
        await admin.close()


@asynccontextmanager
async def _copy(admin: asyncpg.Connection, postgres: str, template: str) -> AsyncIterator[str]:
    name = f"test_{next(_names)}_{uuid4().hex[:8]}"
    await admin.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
    yield _with_database(postgres, name)
    await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


async def _template(admin: asyncpg.Connection, postgres: str) -> str:
    """Return the migrated database that all others are copied from, made once."""
    name = "migrated"
    if not await admin.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", name):
        await admin.execute(f"CREATE DATABASE {name}")
        template = _with_database(postgres, name)
        await migrate(template)
        database = Database(template, name="template", size=1)
        await make_days_ahead(PostgresDayTables(database))
        await database.close()
    return name


def _with_database(dsn: str, name: str) -> str:
    address, _, query = dsn.partition("?")
    return f"{address.rpartition('/')[0]}/{name}?{query}"
