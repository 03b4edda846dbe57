"""Whatever is broken, `matins status` and a mail to the operators say so within their bound, and
when all is well again.

One cluster with engines of its own for all faults, since Valkey is stopped and PostgreSQL made
read-only. Each fault is mended before the next one begins.
"""

from __future__ import annotations

import json
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, NamedTuple

import asyncpg
import pytest
import pytest_asyncio
from tests.alerts.receivers import Mails, body_of, mail_server
from tests.e2e.cluster import Cluster, until
from tests.e2e.commands import type_command
from tests.e2e.faults.scenes import PARTITIONS

pytestmark = pytest.mark.asyncio(loop_scope="module")

SAID_S = 30.0
"""It takes 3 s at most of being wrong, and half of one to a look; a busy machine needs more."""

SETTINGS = {
    "MATINS_LEASE_TERM": "3s",
    "MATINS_STATUS_AFTER": "2s",
    "MATINS_STATUS_EVERY": "500ms",
}
ORPHAN = 7


class Scene(NamedTuple):
    """A whole Matins of which all is well, and the mails to its operators."""

    cluster: Cluster
    mails: Mails

    async def status(self) -> dict[str, Any]:
        async with self.cluster.http.get(f"{self.cluster.urls[0]}/v1/status") as answer:
            told: dict[str, Any] = await answer.json()
            return told

    async def finds(self, kinds: list[str]) -> bool:
        """Return whether exactly this is wrong."""
        return [finding["kind"] for finding in (await self.status())["findings"]] == kinds

    async def typed(self, kinds: list[str]) -> list[dict[str, Any]]:
        """Type `matins status --json` until it tells of exactly this; return its findings."""
        found: list[dict[str, Any]] = []

        async def told() -> bool:
            code, output = await type_command(self.cluster, "matins", "status", "--json")
            found[:] = json.loads(output)["findings"]
            assert code == (1 if found else 0)
            return [finding["kind"] for finding in found] == kinds

        await until(lambda: self.finds(kinds), SAID_S)
        await until(told, SAID_S)
        return found

    async def mailed(self, subject: str, words: str, since: int) -> None:
        """Wait for a mail with this subject and these words, after so many others."""

        def came() -> bool:
            return any(
                mail["subject"] == subject and words in body_of(mail)
                for mail in self.mails.received[since:]
            )

        await until(came, SAID_S)

    def roles(self, role: str) -> list[Any]:
        return [started for started in self.cluster.roles if started.role == role]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene() -> AsyncIterator[Scene]:
    async with mail_server() as mails, Cluster(None, **SETTINGS) as cluster:
        for _ in range(2):
            await cluster.start("scheduler")
        await cluster.start("api", MATINS_OPERATORS_URL=mails.url)
        await cluster.start("executor")
        await cluster.put_job("steady", schedule={"every": "1s"}, overlap="allow")
        scene = Scene(cluster, mails)
        await until(lambda: _holds(scene, PARTITIONS), SAID_S)
        await scene.typed([])
        yield scene


@asynccontextmanager
async def frozen_schedulers(scene: Scene) -> AsyncIterator[None]:
    schedulers = scene.roles("scheduler")
    for scheduler in schedulers:
        scheduler.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for scheduler in schedulers:
            scheduler.signal(signal.SIGCONT)


@asynccontextmanager
async def no_executor(scene: Scene) -> AsyncIterator[None]:
    [executor] = scene.roles("executor")
    await executor.kill()
    try:
        yield
    finally:
        await executor.start()


@asynccontextmanager
async def read_only(scene: Scene) -> AsyncIterator[None]:
    """As hosts make a database whose disk is full."""
    await _alter_database(scene.cluster, "SET default_transaction_read_only = on")
    try:
        async with scene.cluster.http.get(f"{scene.cluster.urls[0]}/ready") as answer:
            assert answer.status == 503
        yield
    finally:
        await _alter_database(scene.cluster, "RESET default_transaction_read_only")


@asynccontextmanager
async def orphan(scene: Scene) -> AsyncIterator[None]:
    """A session keeps the row of a partition locked, whose scheduler is killed."""
    stranger = await asyncpg.connect(scene.cluster.dsn)
    schedulers = scene.roles("scheduler")
    try:
        async with stranger.transaction():
            await stranger.fetch("SELECT FROM partitions WHERE partition = $1 FOR UPDATE", ORPHAN)
            for scheduler in schedulers:
                await scheduler.kill()
                await scheduler.start()
            await until(lambda: _holds(scene, PARTITIONS - 1), SAID_S)
            yield
    finally:
        await stranger.close()


@asynccontextmanager
async def no_valkey(scene: Scene) -> AsyncIterator[None]:
    await scene.cluster.valkey.stop()
    try:
        yield
    finally:
        await scene.cluster.valkey.start()


class Fault(NamedTuple):
    """How it is made, as what it is found, and in which words.

    `told`: those of the mail, which comes at the first look and may tell of what is more for then.
    """

    make: Callable[[Scene], AbstractAsyncContextManager[None]]
    kind: str
    words: str
    subject: str = ""
    told: str = ""


FAULTS = {
    "all schedulers frozen": Fault(frozen_schedulers, "schedulers", "no scheduler is alive"),
    "no executor in the pool": Fault(
        no_executor, "unserved", "no executor serves pool default", "default"
    ),
    "PostgreSQL read-only": Fault(read_only, "database", "read-only"),
    "a partition without holder": Fault(
        orphan, "partitions", f"fire: 1 ({ORPHAN})", told="partitions that no scheduler holds"
    ),
    "Valkey away": Fault(no_valkey, "cache", "Valkey can't be used"),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_it_is_said_and_so_is_its_end(scene: Scene, fault: Fault) -> None:
    before = len(scene.mails.received)
    async with fault.make(scene):
        [finding] = await scene.typed([fault.kind])
        await scene.mailed("Matins: something is wrong", fault.told or fault.words, before)
    assert fault.words in finding["what"], finding
    assert finding["subject"] == fault.subject
    assert finding["since"]
    assert finding["remedy"]
    await scene.typed([])
    await scene.mailed("Matins: well again", fault.told or fault.words, before)


async def _alter_database(cluster: Cluster, change: str) -> None:
    """Change a setting of the database, and end all sessions."""
    session = await asyncpg.connect(cluster.dsn)
    await session.execute("SET default_transaction_read_only = off")
    await session.execute(f"ALTER DATABASE matins {change}")
    await session.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE backend_type = 'client backend' AND usename = current_user"
        " AND pid <> pg_backend_pid()"
    )
    await session.close()


async def _holds(scene: Scene, count: int) -> bool:
    return bool((await scene.status())["partitions_held"] == count)
