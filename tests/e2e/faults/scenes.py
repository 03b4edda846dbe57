"""What the fault tests have in common: proxies in the way, who holds what, and a steady load."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

from tests.e2e.cluster import Cluster, Role, until

from matins.testing.oracle import due_every
from matins.testing.proxy import Direction, HttpTalk, PostgresTalk, Proxy, ReceivedMessage, executes

CLAIM = "INSERT INTO runs"
"""A fragment of the statement that claims, and of no other."""

RENEWAL = "watermark = greatest"
"""A fragment of the statement that renews leases, and of no other."""

PARTITIONS = 256
SECOND = timedelta(seconds=1)


@asynccontextmanager
async def postgres_proxy(cluster: Cluster) -> AsyncIterator[tuple[Proxy, str]]:
    """A proxy in front of PostgreSQL, and the DSN that leads through it."""
    parts = urlsplit(cluster.dsn)
    address = parse_qs(parts.query)
    socket = Path(address["host"][0]) / f".s.PGSQL.{address['port'][0]}"
    async with Proxy(socket, talk=PostgresTalk) as proxy:
        login = f"{parts.username}:{parts.password}"
        yield proxy, f"postgresql://{login}@127.0.0.1:{proxy.port}{parts.path}?sslmode=disable"


@asynccontextmanager
async def api_proxy(cluster: Cluster) -> AsyncIterator[tuple[Proxy, str]]:
    """A proxy in front of the first API, and the URL that leads through it."""
    port = urlsplit(cluster.urls[0]).port
    assert port
    async with Proxy(("127.0.0.1", port), talk=HttpTalk) as proxy:
        yield proxy, f"http://127.0.0.1:{proxy.port}"


class AfterExecute:
    """Finds messages of a kind on connections whose last statement was one with the fragment."""

    def __init__(self, fragment: str, direction: Direction, kinds: str) -> None:
        self._executes = executes(fragment)
        self._direction = direction
        self._kinds = kinds
        self._connections: set[int] = set()

    def __call__(self, message: ReceivedMessage) -> bool:
        """Look at each message in turn."""
        if message.kind in {"E", "Q"}:
            self._connections.discard(message.connection)
            if self._executes(message):
                self._connections.add(message.connection)
        return (
            message.connection in self._connections
            and message.direction is self._direction
            and message.kind in self._kinds
        )


class Holder(NamedTuple):
    """A scheduler's process, and the id under which it holds leases."""

    role: Role
    id: UUID


async def holdings(cluster: Cluster) -> dict[UUID, set[int]]:
    """Return which partitions each scheduler holds."""
    rows = await cluster.rows(
        "SELECT holder, array_agg(partition) AS held FROM leases"
        " WHERE holder IS NOT NULL AND expires_at > clock_timestamp() GROUP BY holder"
    )
    return {row["holder"]: set(row["held"]) for row in rows}


async def start_scheduler(cluster: Cluster, **settings: str) -> Holder:
    """Start one more scheduler, and wait until all of them hold their fair share."""
    known = set(await holdings(cluster))
    role = await cluster.start("scheduler", **settings)
    found = await shared_by(cluster, len(known) + 1)
    [newcomer] = found - known
    return Holder(role, newcomer)


async def shared_by(cluster: Cluster, number: int, within_s: float = 20.0) -> set[UUID]:
    """Wait until so many schedulers hold all partitions in fair shares; gives their ids."""
    fair = -(-PARTITIONS // number)

    async def shared() -> bool:
        sizes = [len(held) for held in (await holdings(cluster)).values()]
        return len(sizes) == number and sum(sizes) == PARTITIONS and max(sizes) <= fair

    await until(shared, within_s, 0.05)
    return set(await holdings(cluster))


async def epochs_of(cluster: Cluster, holder: UUID) -> dict[int, int]:
    """Return the partitions of a scheduler, with the epochs under which it holds them."""
    rows = await cluster.rows("SELECT partition, epoch FROM partitions WHERE holder = $1", holder)
    return {row["partition"]: row["epoch"] for row in rows}


async def taken_over(
    cluster: Cluster, partitions: Collection[int], by: UUID, within_s: float
) -> None:
    """Wait until a scheduler holds all of some partitions."""

    async def taken() -> bool:
        return (await holdings(cluster)).get(by, set()).issuperset(partitions)

    await until(taken, within_s, 0.05)


async def claims_under(cluster: Cluster, epochs: dict[int, int], since: datetime) -> int:
    """Return how many claims were made under these epochs, and not newer ones, after an instant."""
    count: int = await cluster.value(
        "SELECT count(*) FROM runs r"
        " JOIN unnest($1::int[], $2::bigint[]) AS old (partition, epoch)"
        " ON r.partition = old.partition AND r.epoch <= old.epoch"
        " WHERE r.claimed_at > $3",
        list(epochs.keys()),
        list(epochs.values()),
        since,
    )
    return count


async def metric(cluster: Cluster, role: Role, name: str) -> float:
    """Return the sum of a metric over its labels; the role must have a health port."""
    events = [json.loads(line) for line in role.log.read_text().splitlines() if line[:1] == "{"]
    url = next(event["url"] for event in events if event["event"] == "http.listening")
    async with cluster.http.get(f"{url}/metrics") as answer:
        lines = (await answer.text()).splitlines()
    return sum(
        float(line.split()[-1]) for line in lines if line.startswith((f"{name} ", f"{name}{{"))
    )


class Load(NamedTuple):
    """Jobs that are due each second from an instant on, without an end."""

    jobs: list[UUID]
    first: datetime


async def load(cluster: Cluster, number: int) -> Load:
    """Make jobs that are due each second, and wait for the first of it.

    It lies far enough ahead for all of them to be there by then, also on a busy machine.
    """
    first = await cluster.whole_second(4 + number // 20)
    jobs = await cluster.put_every_second(number, first, first)
    await cluster.pass_by(first)
    return Load(jobs, first)


async def check_load(cluster: Cluster, load: Load, broken: Collection[UUID] = ()) -> dict[str, int]:
    """Let the load go on for a second more, and judge all that was due until then.

    Jobs that are broken are due no more.
    """
    end = await cluster.whole_second(1)
    for index, job in enumerate(load.jobs):
        if job not in broken:
            since = load.first - SECOND
            cluster.due += due_every(
                job, f"job-{index}", 1, anchor=load.first, since=since, until=end
            )
    await cluster.pass_by(end)
    return await cluster.check(end)


def are_alive(roles: Iterable[Role]) -> bool:
    """Return whether none of these processes has ended."""
    return all(role.process.returncode is None for role in roles)


async def start_all(cluster: Cluster, **scheduler: str) -> Holder:
    """Start an API, an executor and a scheduler, of which only that one has these settings."""
    _, _, holder = await asyncio.gather(
        cluster.start("api"), cluster.start("executor"), start_scheduler(cluster, **scheduler)
    )
    return holder
