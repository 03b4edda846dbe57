"""Output of real commands, followed while they run and kept after their end, whatever befalls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID

import msgspec
import pytest
from tests.e2e.cluster import TOKEN, Cluster, Role, until

from matins.cache.output import ValkeyLiveOutput
from matins.client.sdk import Matins
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.runs.output import TeamOutput
from matins.domain.runs.states import FINAL
from matins.domain.views import AttemptRecord
from matins.store.database import Database
from matins.store.output import PostgresKeptOutput

MUCH = 100_000_000
LINE = "0123456789" * 8
FLOOD = f"yes {LINE} | head -c {MUCH}; echo; echo the end"


@asynccontextmanager
async def follower(cluster: Cluster) -> AsyncIterator[ValkeyLiveOutput]:
    live = ValkeyLiveOutput(cluster.valkey_url)
    yield live
    await live.close()


async def kept(cluster: Cluster, run: UUID) -> str:
    """Return what is kept whole of a run's first attempt."""
    database = Database(cluster.dsn, name="outputs", size=1)
    output = PostgresKeptOutput(database)
    text = await output.read(run, 1, 0, await output.length(run, 1))
    await database.close()
    return text


class Owner:
    """Somebody who runs shell scripts as jobs."""

    def __init__(self, cluster: Cluster) -> None:
        self.client = Matins(cluster.urls[0], TOKEN)

    async def run(self, name: str, script: str, **env: str) -> UUID:
        """Trigger a script; returns its run."""
        target = Target(command=CommandTarget(["sh", "-c", script], env=env))
        await self.client.put_job("e2e", JobSpec(name, target))
        return (await self.client.trigger_job("e2e", name)).id

    async def attempt(self, run: UUID) -> AttemptRecord:
        """Wait until a run is over; returns its first attempt."""

        async def is_over() -> bool:
            return (await self.client.get_run(run)).state in FINAL

        await until(is_over, 60)
        return (await self.client.list_attempts(run))[0]


@pytest.fixture
async def owner(cluster: Cluster) -> AsyncIterator[Owner]:
    await cluster.start("api")
    await cluster.start("scheduler")
    owner = Owner(cluster)
    async with owner.client:
        yield owner


def memory_peak(*pids: int) -> int:
    """Return the most memory that the largest of some processes has had, in bytes."""
    peaks = []
    for pid in pids:
        status = Path(f"/proc/{pid}/status").read_text()
        [line] = [line for line in status.splitlines() if line.startswith("VmHWM")]
        peaks.append(int(line.split()[1]) * 1024)
    return max(peaks)


def family(role: Role) -> list[int]:
    """Return an executor's process and its keeper's."""
    children = Path(f"/proc/{role.pid}/task/{role.pid}/children").read_text().split()
    return [role.pid, *map(int, children)]


async def test_a_line_is_seen_within_a_second_and_again_when_its_executor_is_killed(
    cluster: Cluster, owner: Owner
) -> None:
    executor = await cluster.start("executor")
    await owner.client.put_team_output("e2e", TeamOutput("all"))
    run = await owner.run("slow", "while :; do echo at $(date +%s.%N); sleep 1; done")
    seen, text = [], ""
    async with asyncio.timeout(60), follower(cluster) as live:
        async with live.follow(run, 1) as chunks:
            async for chunk in chunks:
                text += chunk.text
                seen += [time.time() - float(line.split()[1]) for line in chunk.text.splitlines()]
                if len(seen) >= 5:
                    break
        assert max(seen[1:]) < 1.0  # the first line may have been there before anybody followed

        async def is_kept() -> bool:
            return bool(await kept(cluster, run))

        await until(is_kept, 20)
        await executor.kill()
        assert (await live.so_far(run, 1)).text.startswith(text)
    assert (await kept(cluster, run)).startswith("at ")


async def test_much_output_leaves_the_executor_as_it_was(cluster: Cluster, owner: Owner) -> None:
    executor = await cluster.start("executor")
    first = await owner.attempt(await owner.run("little", "sleep 1; echo little"))
    assert first.output == "little\n"
    before = memory_peak(*family(executor))
    attempt = await owner.attempt(await owner.run("flood", FLOOD))
    head, note, tail = attempt.output.partition(
        f"\n[... {attempt.output_cut} bytes left out ...]\n"
    )
    assert note
    assert head.startswith(LINE)
    assert tail.endswith("the end\n")
    assert attempt.output_cut == MUCH + len("\nthe end\n") - 64 * 1024
    # All of it up to a bound: the beginning, a line that says what is missing, and the end.
    await owner.client.put_team_output("e2e", TeamOutput("all", 5_000_000))
    run = await owner.run("flood", FLOOD)
    attempt = await owner.attempt(run)

    async def is_whole() -> bool:
        return (await kept(cluster, run)).endswith("the end\n")

    await until(is_whole, 30)
    whole = await kept(cluster, run)
    assert 5_000_000 < len(whole) < 5_100_000
    assert whole.count("bytes left out") == 1
    assert memory_peak(*family(executor)) - before < 60_000_000


async def test_what_commands_say_is_read_and_secrets_are_not_shown(
    cluster: Cluster, owner: Owner
) -> None:
    await cluster.start("executor")
    script = (
        "echo $API_TOKEN; printf 'caf\\351\\n'; echo ::mask hidden-$$; echo hidden-$$;"
        " echo ::set rows=12; echo ::set token=$API_TOKEN; echo ::progress 1/2 half; sleep 1.5;"
        " echo $API_TOKEN; kill -9 $$"
    )
    run = await owner.run("talk", script, API_TOKEN="s3cret-value")
    attempt = await owner.attempt(run)
    shown = "***\ncaf\ufffd\n::mask ***\n***\n::set rows=12\n::set token=***\n"
    shown += "::progress 1/2 half\n***\n"
    assert (attempt.outcome, attempt.reason) == ("failed", "killed by SIGKILL")
    assert attempt.output == shown
    assert attempt.results == {"rows": "12", "token": "***"}
    async with follower(cluster) as live:
        seen = await live.so_far(run, 1)
    assert msgspec.to_builtins(seen.progress) == {"done": 1.0, "total": 2.0, "text": "half"}
    assert seen.text == shown


async def test_without_valkey_there_is_no_live_output_and_the_end_brings_all(
    cluster: Cluster,
) -> None:
    cluster.settings["MATINS_VALKEY"] = "redis://127.0.0.1:1/"
    await cluster.start("api")
    await cluster.start("scheduler")
    executor = await cluster.start("executor")
    owner = Owner(cluster)
    async with owner.client:
        attempt = await owner.attempt(await owner.run("one", "echo one; sleep 1; echo two"))
    assert (attempt.outcome, attempt.output) == ("succeeded", "one\ntwo\n")
    assert not executor.said("output.refused")
