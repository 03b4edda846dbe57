"""Load, a primary that dies, and a standby that takes over; then the old primary comes back.

An asynchronous standby lacks the last seconds: no due time that has not run may be lost. With a
synchronous one nothing may be lost at all.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from tests.e2e.cluster import Cluster, until
from tests.e2e.failover.nodes import USER, Node
from tests.folders import POSTGRES_PROGRAMS

from matins.engines.accounts import server_account
from matins.engines.binaries import postgres_programs
from matins.store.migrate import migrate
from matins.testing.call_recorder import read_calls
from matins.testing.proxy import Proxy

BEFORE_S, LOST_S, LATE_S, OLD_S = 2.0, 1.5, 1.0, 1.0
"""How long all is well, the standby lacks what is written, the address leads to the dead primary,
and to the old one."""


class FailOver:
    """A cluster whose PostgreSQL is an address that can be moved from one node to another."""

    def __init__(
        self, cluster: Cluster, address: Proxy, primary: Node, standby: Node, pace: float
    ) -> None:
        """`pace` is by how much everything takes longer than in the suite."""
        self.cluster = cluster
        self.counts: dict[str, int] = {}
        self._address = address
        self._primary = primary
        self._standby = standby
        self._pace = pace
        self._lost: set[UUID] = set()

    async def run(self, *, synchronous: bool, jobs: int, schedulers: int) -> dict[str, int]:
        """Play it all; gives the counts. Raises AssertionError if a promise was broken."""
        cluster = self.cluster
        for role in ("api", *["scheduler"] * schedulers, "executor"):
            await cluster.start(role)
        first = await cluster.whole_second(3 + jobs // 25)
        end = first + timedelta(seconds=2 + (BEFORE_S + LOST_S + LATE_S) * self._pace)
        await cluster.put_every_second(jobs, first, end, retry={"backoff": {"initial": "1s"}})
        await cluster.pass_by(first + timedelta(seconds=BEFORE_S * self._pace))
        if synchronous:
            await self._primary.wait_for("*")
        else:
            await self._standby.lose_touch()
        await asyncio.sleep(LOST_S * self._pace)
        await self._take_over()
        await self._bring_back_the_old()
        if synchronous:
            return self.counts | await cluster.check(end)
        await cluster.all_ended(end)
        await self._check_all_ran()
        return self.counts

    async def _take_over(self) -> None:
        await self._primary.kill()
        self._address.cut_connections()
        await self._standby.promote()
        known = await self._run_ids(self._standby)
        await asyncio.sleep(LATE_S * self._pace)
        await self._lead_to(self._standby)
        await self._claims_go_on()
        await self._all_say("database.changed")  # who never met the new one can't refuse the old
        await self._primary.start()
        self._lost = await self._run_ids(self._primary) - known
        self.counts["runs that the standby lacked"] = len(self._lost)

    async def _bring_back_the_old(self) -> None:
        """Lead to the old primary for a while: all roles stop, with an alarm; then back."""
        known = await self._run_ids(self._primary)
        await self._lead_to(self._primary)
        await self._all_say("database.older")
        await until(self._is_unready, 20)
        await asyncio.sleep(OLD_S * self._pace)
        assert await self._run_ids(self._primary) == known, "the old primary was written"
        await self._lead_to(self._standby)
        await self._claims_go_on()

    async def _lead_to(self, node: Node) -> None:
        self._address.upstream = node.socket
        self._address.cut_connections()

    async def _claims_go_on(self) -> None:
        """Wait until what is due now is claimed on the new primary."""
        now = await self._standby.value("SELECT clock_timestamp()")
        await until(lambda: self._standby.value(f"SELECT max(due_at) > '{now}' FROM runs"), 30)

    async def _all_say(self, event: str) -> None:
        """Wait until each role that uses the database has logged an event."""
        using = [role for role in self.cluster.roles if role.role != "executor"]
        await until(lambda: all(role.said(event) for role in using), 20)

    async def _is_unready(self) -> bool:
        async with self.cluster.http.get(f"{self.cluster.urls[0]}/ready") as answer:
            return answer.status == 503

    async def _run_ids(self, node: Node) -> set[UUID]:
        return {row["id"] for row in await node.rows("SELECT id FROM runs")}

    async def _check_all_ran(self) -> None:
        """Every due time has its row, and was called; what the standby lacked, under its own id."""
        found = await self.cluster.rows("SELECT id, job_id, due_at, state FROM runs")
        rows = {(row["job_id"], row["due_at"]): row for row in found}
        due = {(row.job_id, row.due_at) for row in self.cluster.due}
        assert due <= rows.keys(), f"{len(due - rows.keys())} due times have no row"
        assert {rows[key]["state"] for key in due} == {"succeeded"}
        ids = {rows[key]["id"] for key in due}
        calls = read_calls(self.cluster.folder / "calls")
        called = [call.run_id for call in calls if call.run_id in ids]
        assert ids == set(called), f"{len(ids - set(called))} runs were never called"
        assert self._lost, "the standby lacked nothing, so this showed nothing"
        assert self._lost <= ids
        self.counts |= {"due times": len(due), "calls more than runs": len(called) - len(ids)}


@asynccontextmanager
async def two_nodes(folder: Path) -> AsyncIterator[tuple[Node, Node]]:
    """A primary with a standby that follows it."""
    account = server_account()
    programs = await postgres_programs(folder, account, POSTGRES_PROGRAMS)
    primary, standby = (Node(programs, account, folder / name) for name in ("one", "two"))
    try:
        await primary.make()
        await migrate(primary.dsn)
        await standby.follow(primary)
        yield primary, standby
    finally:
        await primary.stop()
        await standby.stop()


@asynccontextmanager
async def fail_over(valkey: str, pace: float = 1.0) -> AsyncIterator[FailOver]:
    """A cluster on two nodes, none of whose roles runs yet."""
    with open_folder("matins-pg-") as folder:
        async with two_nodes(folder) as nodes, Proxy(nodes[0].socket) as address:
            dsn = f"postgresql://{USER}@127.0.0.1:{address.port}/{USER}?sslmode=disable"
            async with Cluster((dsn, valkey)) as cluster:
                yield FailOver(cluster, address, *nodes, pace=pace)


@contextmanager
def open_folder(prefix: str) -> Iterator[Path]:
    """A temporary folder that the servers' own account can reach."""
    with tempfile.TemporaryDirectory(prefix=prefix) as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
