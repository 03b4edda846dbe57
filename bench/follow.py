"""What thousands of followers of output cost: one API process, and a run that prints the time.

    python -m bench.follow [--followers 2000] [--seconds 20]

Every follower is a connection of its own. Printed are memory and processor time of the API, how
late each line was seen by each follower after it was printed, and when one who reads nothing, of a
run that prints much, is dropped.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import aiohttp
import msgspec
import uvloop

from bench.ground import folder, postgres
from bench.live import TOKEN, Viewers, memory_mib, opening, small_socket
from bench.processes import Roles, roles
from matins.client.sdk import Matins
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import CommandTarget, Target
from matins.kernel.clock import elapsed_s

_TICKS = "while :; do date +%s.%N; sleep 1; done"
_FLOOD = "while :; do seq 1 5000; sleep 0.2; done"
_HEADERS = {"Authorization": f"Bearer {TOKEN}"}
_SETTLE_S = 3
_DROPPED_S = 120


class Followers(Viewers):
    """How late each of them saw each line, in ms."""

    def __init__(self, client: aiohttp.ClientSession, paths: Sequence[str]) -> None:
        super().__init__(client, paths)
        self.lags: list[float] = []

    def saw(self, path: str, event: bytes) -> None:
        """Note the lines of an event."""
        del path
        if event.startswith(b"event: output"):
            text = msgspec.json.decode(event.partition(b"data: ")[2])["text"]
            self.lags += [1000 * (time.time() - float(line)) for line in text.splitlines()]


async def main(given: argparse.Namespace) -> None:
    """Measure and print."""
    with folder() as path:
        async with postgres(path) as dsn, roles(path, dsn, executors=0) as running:
            await running.start("executor", "matins")
            async with Matins(running.urls[0], TOKEN) as owner:
                ticks = await _begun(owner, "ticks", _TICKS)
                flood = await _begun(owner, "flood", _FLOOD)
            await _measure(running, given, f"/v1/runs/{ticks}/output")
            await _slow_follower(running.urls[0], f"/v1/runs/{flood}/output")


async def _begun(owner: Matins, name: str, script: str) -> str:
    target = Target(command=CommandTarget(["sh", "-c", script]))
    await owner.put_job("bench", JobSpec(name, target))
    run = await owner.trigger_job("bench", name)
    while (await owner.get_run(run.id)).state != "running":
        await asyncio.sleep(0.1)
    return str(run.id)


async def _measure(running: Roles, given: argparse.Namespace, path: str) -> None:
    timeout, connector = aiohttp.ClientTimeout(total=None), aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(
        running.urls[0], connector=connector, timeout=timeout, headers=_HEADERS
    ) as client:
        followers, before = Followers(client, [path]), memory_mib(running)
        async with opening(followers, given.followers):
            await asyncio.sleep(_SETTLE_S)
            followers.lags.clear()
            begun = running.cpu()["api"]
            await asyncio.sleep(given.seconds)
            cpu = running.cpu()["api"] - begun
            lags, after = sorted(followers.lags), memory_mib(running)
    print(f"{followers.opened} followers, {followers.ended} of them ended")
    print(f"memory of the API: {before:.0f} MiB, {after:.0f} MiB with followers")
    print(f"CPU of the API with followers: {100 * cpu / given.seconds:.0f} %")
    late = [median(lags), lags[len(lags) * 99 // 100], lags[-1]]
    told = ", ".join(f"{lag:,.0f}" for lag in late)
    print(f"from printed to seen, ms (median, 99 %, worst): {told} of {len(lags)} lines")


async def _slow_follower(url: str, path: str) -> None:
    where = urlsplit(url)
    with small_socket(url) as reader:
        head = f"Host: {where.netloc}\r\nAccept: text/event-stream\r\n"
        asked = f"GET {path} HTTP/1.1\r\n{head}Authorization: Bearer {TOKEN}\r\n\r\n"
        reader.sendall(asked.encode())
        begun, port = elapsed_s(), reader.getsockname()[1]
        while _is_served(where.port, port) and elapsed_s() - begun < _DROPPED_S:
            await asyncio.sleep(0.1)
        told = f"after {elapsed_s() - begun:.0f} s"
        if _is_served(where.port, port):
            told = "was not dropped"
        print(f"a follower who reads nothing: {told}")


def _is_served(here: int | None, there: int) -> bool:
    """Return whether the server's side of a connection on this host stands."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    ends = {
        (row[1].rpartition(":")[2], row[2].rpartition(":")[2]) for row in rows if row[3] == "01"
    }
    return (f"{here:04X}", f"{there:04X}") in ends


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--followers", type=int, default=2_000)
    parser.add_argument("--seconds", type=int, default=20)
    uvloop.run(main(parser.parse_args()))
