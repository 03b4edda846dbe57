"""What thousands of open pages cost: live views on one API process, beside runs.

    python -m bench.live [--views 2000] [--seconds 20] [--rate 20] [--of run] [--runs 1]

Every view is a connection of its own. Printed are the memory of the API, how late runs start
without views and with them, how late the same state reaches the last viewer after the first, and
whether a viewer who reads nothing is dropped. With `--of run` they are spread over the pages of so
many runs that wait for an executor, and not of the overview.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median, quantiles
from urllib.parse import urlsplit

import aiohttp
import asyncpg
import uvloop

from bench.ground import fill_jobs, folder, postgres
from bench.processes import Roles, roles
from matins.client.sdk import Matins
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.schedules.schedule import Schedule
from matins.kernel.clock import elapsed_s

TOKEN = "bench"
_AHEAD_S = 8


class Viewers:
    """Views that are open, and when each state that was shown came to each of them."""

    def __init__(self, client: aiohttp.ClientSession, paths: Sequence[str]) -> None:
        self._client = client
        self._paths = paths
        self.arrivals: dict[int, list[float]] = defaultdict(list)
        self.opened = 0
        self.ended = 0

    async def watch(self, number: int) -> None:
        """Look until the stream ends or the task is cancelled."""
        path = self._paths[number % len(self._paths)]
        async with self._client.get(path, headers={"Accept": "text/event-stream"}) as answer:
            assert answer.status == 200, answer.status
            self.opened += 1
            while event := await answer.content.readuntil(b"\n\n"):
                if event.startswith(b"event"):
                    self.saw(path, event)
        self.ended += 1

    def saw(self, path: str, event: bytes) -> None:
        """Note when a state came."""
        self.arrivals[hash((path, event))].append(elapsed_s())


async def main(given: argparse.Namespace) -> None:
    """Measure and print."""
    with folder() as path:
        async with postgres(path) as dsn:
            session = await asyncpg.connect(dsn)
            now: datetime = await session.fetchval("SELECT date_trunc('second', now())")
            first = now + timedelta(seconds=_AHEAD_S)
            every = Schedule(every="5s", anchor=first.isoformat())
            count = given.rate * 5
            await fill_jobs(dsn, count, every, first, timedelta(seconds=5), overlap="allow")
            async with roles(path, dsn, slots=200) as running:
                await asyncio.sleep(_AHEAD_S)
                begun = running.cpu()
                alone = await _lags(session, given.seconds)
                idle = {role: used - begun[role] for role, used in running.cpu().items()}
                before = memory_mib(running)
                paths = ["/live/overview"]
                if given.of == "run":
                    paths = await _waiting_runs(running.urls[0], given.runs)
                async with _viewing(running, given.views, paths) as viewers:
                    opened = memory_mib(running)
                    begun = running.cpu()
                    beside = await _lags(session, given.seconds)
                    cpu = {role: used - begun[role] for role, used in running.cpu().items()}
                    late = _lateness(viewers, given.views)
                    print(f"{viewers.opened} views, {viewers.ended} of them ended")
                print(f"memory of the API: {before:.0f} MiB, {opened:.0f} MiB with views")
                for role in ("api", "postgres"):
                    shares = [100 * used[role] / given.seconds for used in (idle, cpu)]
                    print(f"CPU of {role}: {shares[0]:.1f} %, {shares[1]:.1f} % with views")
                print(f"lag of runs, ms (median, 99 %): {_told(alone)}; with views {_told(beside)}")
                print(f"from the first viewer to the last, ms (median, worst): {late}")
                await _slow_reader(running)
            await session.close()


@asynccontextmanager
async def _viewing(running: Roles, views: int, paths: Sequence[str]) -> AsyncIterator[Viewers]:
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=None)
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(
        running.urls[0], connector=connector, timeout=timeout, cookie_jar=jar
    ) as client:
        await _sign_in(client)
        viewers = Viewers(client, paths)
        async with opening(viewers, views):
            yield viewers


@asynccontextmanager
async def opening(viewers: Viewers, count: int) -> AsyncIterator[None]:
    """Open so many streams, and close them in the end."""
    tasks = [asyncio.create_task(viewers.watch(number)) for number in range(count)]
    try:
        begun = elapsed_s()
        while viewers.opened < count:
            for task in tasks:
                if task.done():
                    task.result()
            await asyncio.sleep(0.05)
        print(f"{count} streams were opened in {elapsed_s() - begun:.1f} s")
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _waiting_runs(url: str, count: int) -> list[str]:
    """Return the live parts of so many runs of which no executor wants to know."""
    target = Target(command=CommandTarget(argv=["true"]))
    async with Matins(url, TOKEN) as client:
        job = JobSpec(name="watched", target=target, pool="nobody", overlap="allow")
        await client.put_job("bench", job)
        runs = [await client.trigger_job("bench", "watched") for _ in range(count)]
    return [f"/live/run/{run.id}" for run in runs]


async def _sign_in(client: aiohttp.ClientSession) -> None:
    async with client.post("/sign-in", data={"token": TOKEN, "next_path": "/"}) as answer:
        assert answer.status == 200, answer.status


async def _lags(session: asyncpg.Connection, seconds: int) -> list[float]:
    since = await session.fetchval("SELECT clock_timestamp()")
    await asyncio.sleep(seconds)
    rows = await session.fetch(
        "SELECT 1000 * extract(epoch FROM started_at - due_at)::float8 AS lag FROM runs"
        " WHERE due_at > $1 AND started_at IS NOT NULL",
        since,
    )
    return [row["lag"] for row in rows]


def _lateness(viewers: Viewers, views: int) -> str:
    whole = [seen for seen in viewers.arrivals.values() if len(seen) == views]
    if not whole:
        return "no state came to all of them"
    spreads = [1000 * (max(seen) - min(seen)) for seen in whole]
    return f"{median(spreads):,.0f}, {max(spreads):,.0f} of {len(spreads)} states"


def _told(lags: Sequence[float]) -> str:
    return f"{median(lags):,.0f}, {quantiles(lags, n=100)[-1]:,.0f} of {len(lags)} runs"


def memory_mib(running: Roles) -> float:
    """Return the memory of the one API."""
    [api] = running.processes["api"]
    for line in Path(f"/proc/{api.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmRSS")


async def _slow_reader(running: Roles) -> None:
    """Open a view with the smallest buffers, and read nothing of it."""
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(running.urls[0], cookie_jar=jar) as client:
        await _sign_in(client)
        [cookie] = [c for c in client.cookie_jar if c.key == "matins_session"]
        host = urlsplit(running.urls[0])
        with small_socket(running.urls[0]) as reader:
            reader.sendall(
                b"GET /live/overview HTTP/1.1\r\nHost: %b\r\nAccept: text/event-stream\r\n"
                b"Cookie: matins_session=%b\r\n\r\n" % (host.netloc.encode(), cookie.value.encode())
            )
            begun = elapsed_s()
            await _until_views(client, 1)
            dropped = await _until_views(client, 0)
            told = f"after {elapsed_s() - begun:.0f} s" if dropped else "was not dropped"
            print(f"a viewer who reads nothing: {told}")


def small_socket(url: str) -> socket.socket:
    """Connect with the smallest buffers."""
    where = urlsplit(url)
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    reader.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)  # as over a network
    reader.connect((where.hostname, where.port))
    return reader


async def _until_views(client: aiohttp.ClientSession, wanted: int, within_s: float = 240) -> bool:
    """Return whether the API comes to serve so many views."""
    begun = elapsed_s()
    while elapsed_s() - begun < within_s:
        async with client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}) as answer:
            text = await answer.text()
        if f"matins_live_views {wanted}.0" in text:
            return True
        await asyncio.sleep(0.2)
    return False


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--views", type=int, default=2_000)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--rate", type=int, default=20)
    parser.add_argument("--of", choices=["overview", "run"], default="overview")
    parser.add_argument("--runs", type=int, default=1)
    uvloop.run(main(parser.parse_args()))
