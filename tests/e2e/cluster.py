"""A whole Matins for fault tests: real engines, every role a real process that can be hurt."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import sample
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import aiohttp
import asyncpg
from tests.folders import POSTGRES_PROGRAMS, make_folder

from matins.engines.postgres import EmbeddedPostgres
from matins.engines.valkey import EmbeddedValkey
from matins.store.database import Database
from matins.store.day_tables import PostgresDayTables
from matins.store.migrate import migrate
from matins.testing.call_recorder import CallRecorder, read_calls
from matins.testing.history import AttemptRow, Due, EvidenceRow, History, check, count, report
from matins.testing.oracle import due_every
from matins.upkeep.days import make_days_ahead

BRISK = {
    "MATINS_LEASE_TERM": "2s",
    "MATINS_HEARTBEAT": "500ms",
    "MATINS_CUT_OFF": "3s",
    "MATINS_LOST_AFTER": "5s",
    "MATINS_POLL": "500ms",
    "MATINS_FLUSH": "1s",
    "MATINS_HORIZON": "20s",
    "MATINS_GRACE": "1s",
    "MATINS_DRAIN": "5s",
    "MATINS_LOG_LEVEL": "info",
}
"""All terms short, so that a test sees in seconds what takes a minute in production."""

TOKEN = "e2e-token"


class Role:
    """One role process, in a session of its own, with its log in a file."""

    def __init__(self, role: str, environment: Mapping[str, str], log: Path) -> None:
        self.role = role
        self.log = log
        self._environment = dict(environment)
        self.process: asyncio.subprocess.Process

    async def start(self) -> None:
        """Start it, or start it again."""
        with self.log.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "matins", self.role),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process id."""
        return self.process.pid

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to this one process."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    async def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self.signal(signal.SIGKILL)
        await self.process.wait()

    async def end(self, within_s: float = 20.0) -> int:
        """SIGTERM, and wait for its exit code."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        async with asyncio.timeout(within_s):
            return await self.process.wait()

    def said(self, words: str) -> int:
        """Return how often its log holds these words."""
        return self.log.read_text(errors="replace").count(words)


class Cluster:
    """Engines, call recorder and roles in one temporary folder; everything is killed at its end.

    `engines` are a migrated database and a Valkey that run already; without, it has its own.
    """

    def __init__(self, engines: tuple[str, str] | None = None, **settings: str) -> None:
        self.folder = make_folder("matins-e2e-")
        self.settings = BRISK | settings
        self._engines = engines
        self.roles: list[Role] = []
        self.postgres = EmbeddedPostgres(self.folder / "postgres", programs=POSTGRES_PROGRAMS)
        self.valkey = EmbeddedValkey(self.folder / "valkey")
        self.recorder = CallRecorder(self.folder / "calls")
        self.urls: list[str] = []
        self.due: list[Due] = []
        self.cut_off: set[UUID] = set()

    async def __aenter__(self) -> Self:
        self.dsn, self.valkey_url = self._engines or await self._start_engines()
        await self.recorder.__aenter__()
        self.http = aiohttp.ClientSession(headers={"Authorization": f"Bearer {TOKEN}"})
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.http.close()
        for role in self.roles:
            role.signal(signal.SIGCONT)
            await role.kill()
        await self.recorder.__aexit__(kind, error, trace)
        await self.valkey.stop()
        await self.postgres.stop()
        if error is None:
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            print(f"the logs are in {self.folder}")

    async def _start_engines(self) -> tuple[str, str]:
        dsn = await self.postgres.start()
        await migrate(dsn)
        database = Database(dsn, name="e2e", size=1)
        await make_days_ahead(PostgresDayTables(database))
        await database.close()
        return dsn, await self.valkey.start()

    async def start(self, role: str, **settings: str) -> Role:
        """Start one more process of a role; an API is waited for until it listens."""
        environment = (
            os.environ
            | {
                "MATINS_DATA": str(self.folder),
                "MATINS_POSTGRES": self.dsn,
                "MATINS_VALKEY": self.valkey_url,
                "MATINS_PORT": "0",
                "MATINS_ADMIN_TOKEN": TOKEN,
                "MATINS_EXECUTOR_TOKEN": TOKEN,
                "MATINS_URL": ",".join(self.urls),
            }
            | self.settings
            | settings
        )
        if role == "api":
            environment["MATINS_PORT"] = settings.get("MATINS_PORT", str(_free_port()))
            self.urls.append(f"http://127.0.0.1:{environment['MATINS_PORT']}")
        started = Role(role, environment, self.folder / f"{role}-{len(self.roles)}.log")
        self.roles.append(started)
        await started.start()
        if role == "api":
            await self.ready(started, self.urls[-1])
        return started

    async def ready(self, role: Role, url: str) -> None:
        """Wait until an API can do its work."""

        async def asked() -> bool:
            assert role.process.returncode is None, role.log.read_text()[-3000:]
            try:
                async with self.http.get(f"{url}/ready") as answer:
                    return answer.status == 200
            except aiohttp.ClientError:
                return False

        await until(asked, 30)

    async def crash_postgres(self) -> None:
        """SIGKILL the postmaster, and start it again."""
        os.kill(self.postgres.pid, signal.SIGKILL)
        await self.postgres.wait()
        await self.postgres.stop()
        await self.postgres.start()

    async def put_job(self, name: str, **spec: Any) -> UUID:
        """Make or change a job of team `e2e` by the API; its target is the call recorder's /ok."""
        url = f"{self.urls[0]}/v1/teams/e2e/jobs/{name}"
        async with self.http.put(url, json=self._body(name, spec)) as answer:
            told = await answer.json()
            assert answer.status in (200, 201), told
            return UUID(told["job"]["id"])

    def _body(self, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
        return {"name": name, "target": {"http": {"url": f"{self.recorder.url}/ok"}}, **spec}

    async def put_every_second(
        self, number: int, first: datetime, until_: datetime, **spec: Any
    ) -> list[UUID]:
        """Make jobs due each second from `first` on, and note what is due before `until_`.

        Their runs may overlap, so that each of them is called. It is one request, which a busy
        machine answers in time as well.
        """
        schedule = {"every": "1s", "anchor": first.isoformat()}
        spec = {"overlap": "allow", "schedule": schedule} | spec
        body = {"jobs": [self._body(f"job-{index}", spec) for index in range(number)]}
        async with self.http.put(f"{self.urls[0]}/v1/teams/e2e/jobs", json=body) as answer:
            told = await answer.json()
            assert answer.status == 200, told
        ids = [UUID(made["job"]["id"]) for made in told]
        assert await self.now() < first, "the jobs came too late for what is due"
        for index, job in enumerate(ids):
            since = first - timedelta(seconds=1)
            self.due += due_every(job, f"job-{index}", 1, anchor=first, since=since, until=until_)
        return ids

    async def now(self) -> datetime:
        """Return the database's clock."""
        now: datetime = await self.value("SELECT clock_timestamp()")
        return now

    async def whole_second(self, ahead_s: int) -> datetime:
        """Return a whole second that lies ahead, by the database's clock."""
        return (await self.now()).astimezone(UTC).replace(microsecond=0) + timedelta(
            seconds=ahead_s
        )

    async def pass_by(self, instant: datetime) -> None:
        """Wait until the database's clock has passed an instant."""
        await asyncio.sleep(max(0.0, (instant - await self.now()).total_seconds()))

    async def value(self, sql: str, *arguments: object) -> Any:
        """One value from the database."""
        session = await asyncpg.connect(self.dsn)
        try:
            return await session.fetchval(sql, *arguments)
        finally:
            await session.close()

    async def rows(self, sql: str, *arguments: object) -> list[asyncpg.Record]:
        """Rows from the database."""
        session = await asyncpg.connect(self.dsn)
        try:
            rows: list[asyncpg.Record] = await session.fetch(sql, *arguments)
            return rows
        finally:
            await session.close()

    async def all_ended(self, end: datetime, within_s: float = 60.0) -> None:
        """Wait until every due time before `end` has a row, and every such row is final."""
        wanted = len(self.due)

        async def ended() -> bool:
            [row] = await self.rows(
                "SELECT coalesce(sum(due_count), 0) AS due,"
                " count(*) FILTER (WHERE finished_at IS NULL) AS open"
                " FROM runs WHERE due_at < $1",
                end,
            )
            return bool(row["due"] >= wanted and not row["open"])

        await until(ended, within_s)

    async def history(self, end: datetime) -> History:
        """Return all that is known, after it has come to rest."""
        calls = read_calls(self.folder / "calls")
        attempts = await self.rows(
            "SELECT run_id, number, outcome, executor, started_at, finished_at FROM attempts"
        )
        rows = await self.rows(
            "SELECT id AS run_id, job_id, due_at, kind, state, reason, attempt, epoch, partition,"
            " claimed_at, started_at, finished_at, due_until, due_count FROM runs"
        )
        return History(
            due=self.due,
            rows=[EvidenceRow(**row) for row in rows],
            attempts=[AttemptRow(**row) for row in attempts],
            calls=calls,
            until=end,
            cut_off=frozenset(self.cut_off),
            slack=timedelta(milliseconds=50),
        )

    async def check(self, end: datetime) -> dict[str, int]:
        """Wait for the end of everything due before `end`; insist that every promise was kept."""
        late = None
        try:
            await self.all_ended(end)
        except AssertionError as error:  # the checker tells what did not end
            late = error
        history = await self.history(end)
        counts = count(history)
        violations = check(history)
        assert not violations, report(violations, counts)
        assert late is None, (late, counts)
        return counts


async def until(condition: Callable[[], Any], within_s: float, every_s: float = 0.1) -> None:
    """Wait for a condition, which may be a coroutine function; AssertionError if it never holds."""
    try:
        async with asyncio.timeout(within_s):
            while True:
                found = condition()
                if asyncio.iscoroutine(found):
                    found = await found
                if found:
                    return
                await asyncio.sleep(every_s)
    except TimeoutError:
        raise AssertionError(f"not within {within_s:g} s: {condition}") from None


def _free_port() -> int:
    """Return a port below those that the kernel gives to clients, so it is still free after a
    kill.
    """
    for port in sample(range(20_000, 30_000), 100):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port is free")
