"""Output on the command line: followed while a run goes on, whatever befalls, and read later."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.e2e.cluster import TOKEN, Cluster
from tests.e2e.commands import type_command

JOB = "e2e/talk"
NOWHERE = "redis://127.0.0.1:1/"
# Each line tells when it was written. The run goes on until the test says so.
SCRIPT = (
    "echo begun; while [ ! -e $STOP ]; do echo at $(date +%s.%N); sleep 0.5; done;"
    " printf 'no end'; exit 3"
)


async def start(cluster: Cluster, **of_second: str) -> None:
    """Start two APIs and a job that talks until there is a file."""
    await cluster.start("api")
    await cluster.start("api", **of_second)
    await cluster.start("scheduler")
    await cluster.start("executor")
    command = {"argv": ["sh", "-c", SCRIPT], "env": {"STOP": str(cluster.folder / "stop")}}
    await cluster.put_job("talk", target={"command": command}, timeout="60s")


def stop(cluster: Cluster) -> None:
    (cluster.folder / "stop").touch()


@asynccontextmanager
async def typing(cluster: Cluster, *words: str, url: str = "") -> AsyncIterator[Process]:
    """Type a command, and read what it prints while it runs."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "matins", *words),
        env=os.environ | {"MATINS_URL": url or cluster.urls[0], "MATINS_TOKEN": TOKEN},
        stdout=PIPE,
        stderr=PIPE,
    )
    try:
        async with asyncio.timeout(60):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def line_of(process: Process) -> str:
    assert process.stdout is not None
    return (await process.stdout.readline()).decode()


async def lines_seen_late(process: Process, count: int) -> list[float]:
    """Read so many lines; return how many seconds after their writing they were seen."""
    late: list[float] = []
    while len(late) < count:
        words = (await line_of(process)).split()
        if words and words[0] == "at":
            late.append(time.time() - float(words[1]))
    return late


async def test_a_run_is_triggered_followed_and_ends_with_its_command_s_exit_code(
    cluster: Cluster,
) -> None:
    await start(cluster, MATINS_VALKEY=NOWHERE)
    async with typing(cluster, "jobs", "trigger", JOB, "--wait") as process:
        state, run, name = (await line_of(process)).split()
        assert (state in {"queued", "waiting"}, name) == (True, JOB)
        assert await line_of(process) == "begun\n"
        await lines_seen_late(process, 1)
        async with (
            typing(cluster, "logs", JOB, "-f", "--tail", "1") as beside,
            typing(cluster, "logs", run[:16], "-f", url=cluster.urls[1]) as blind,
        ):
            await lines_seen_late(beside, 1)
            late = await lines_seen_late(process, 3) + await lines_seen_late(beside, 2)
            assert min(late) < 1.0, late  # each of them, on a machine that has time
            so_far = await type_command(cluster, "matins", "logs", JOB)
            assert (so_far[0], so_far[1].startswith("begun\nat ")) == (0, True)
            stop(cluster)
            out, err = await process.communicate()
            assert (process.returncode, err.decode().splitlines()[-2:]) == (
                3,
                ["matins: running", "matins: dead: exit code 3"],
            )
            assert out.decode().splitlines()[-2:] == ["no end", f"dead  {run}  {JOB}: exit code 3"]
            out, err = await beside.communicate()
            assert (beside.returncode, out.splitlines()[-1]) == (0, b"no end")
            assert b"dead: exit code 3" in err
            out, err = await blind.communicate()
            whole = await type_command(cluster, "matins", "logs", JOB, "--last-failed")
            assert (blind.returncode, out.decode()) == (0, whole[1])
            assert b"there is no live output now; all of it follows at the end" in err
    assert whole[1].startswith("begun\nat ")
    assert whole[1].endswith("\nno end\n")
    tail = await type_command(cluster, "matins", "logs", run, "--tail", "1", "--attempt", "1")
    assert tail == (0, "no end\n")
    shown = await type_command(cluster, "matins", "logs", run, "--json", "-f")
    assert shown[1].splitlines()[-1].startswith('{"event":"end","state":"dead","attempt":1')


async def test_who_follows_goes_on_at_another_api_where_one_is_killed(
    cluster: Cluster,
) -> None:
    await start(cluster)
    both = ",".join(cluster.urls)
    await type_command(cluster, "matins", "jobs", "trigger", JOB)
    async with typing(cluster, "logs", JOB, "-f", url=both) as process:
        assert await line_of(process) == "begun\n"
        await lines_seen_late(process, 2)
        await cluster.roles[0].kill()
        await lines_seen_late(process, 3)
        stop(cluster)
        out, _ = await process.communicate()
    assert process.returncode == 0
    assert out.decode().splitlines()[-1] == "no end"
    assert b"begun" not in out
