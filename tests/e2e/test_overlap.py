"""Overlap over real processes: how many runs of a job its target saw at once, by its policy."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from tests.e2e.cluster import Cluster, until
from tests.e2e.commands import type_command

from matins.testing.call_recorder import read_calls
from matins.testing.calls import Call, command_script
from matins.testing.oracle import due_every

SECOND = timedelta(seconds=1)
WORK_S = 2.5
NS = 1_000_000_000
POLICIES = ("skip", "queue", "replace", "allow")
TRIGGER = ("matins", "jobs", "trigger", "e2e/skip")
STARTING = ("waiting", "queued", "running")
"""How far a run may be that was triggered a moment ago; a scheduler admits it first."""
ROWS = (
    "SELECT due_at, state, reason, due_count, attempt FROM runs"
    " WHERE job_id = $1 AND due_at < $2 ORDER BY due_at"
)


def most_at_once(calls: Iterable[Call]) -> int:
    """Return how many of the calls there were at once at most."""
    edges = [
        edge for call in calls for edge in ((call.arrived_ns, 1), (call.ended_ns or 2**63, -1))
    ]
    count = most = 0
    for _, step in sorted(edges):
        count += step
        most = max(most, count)
    return most


class Policies:
    """A job due each second by each policy, whose command takes longer than that."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.jobs: dict[str, UUID] = {}

    async def put(self, first: datetime, end: datetime, *policies: str, **spec: Any) -> None:
        """Make the jobs, which are due from `first` on until `end`."""
        script = command_script(self.cluster.folder / "calls", f"sleep {WORK_S}")
        target = {"command": {"argv": ["sh", "-c", script]}}
        schedule = {
            "every": "1s",
            "anchor": first.isoformat(),
            "ends_at": (end - SECOND).isoformat(),
        }
        for policy in policies:
            overlap = {} if policy == "skip" else {"overlap": policy}  # which is the default
            given = spec | overlap
            job = await self.cluster.put_job(policy, schedule=schedule, target=target, **given)
            self.jobs[policy] = job
            since = first - SECOND
            self.cluster.due += due_every(job, policy, 1, anchor=first, since=since, until=end)
        assert await self.cluster.now() < first

    def calls(self, policy: str) -> list[Call]:
        """Return the calls of a job, in the order of their arrival."""
        calls = read_calls(self.cluster.folder / "calls")
        return [call for call in calls if call.job == policy]

    async def states(self, policy: str, end: datetime) -> dict[str, int]:
        """Return how many due times of a job there are in each state."""
        counts: dict[str, int] = {}
        for row in await self.cluster.rows(ROWS, self.jobs[policy], end):
            counts[row["state"]] = counts.get(row["state"], 0) + row["due_count"]
        return counts

    async def audit(self) -> None:
        """Insist that an audit finds each due time, once."""
        url = f"{self.cluster.urls[0]}/v1/audit?team=e2e"
        async with self.cluster.http.get(url) as answer:
            for found in (await answer.json())["jobs"]:
                wrong = [found[f"{what}_count"] for what in ("missing", "unexpected", "doubled")]
                assert wrong == [0, 0, 0], found


@pytest.fixture
async def policies(cluster: Cluster) -> Policies:
    """All processes, with two schedulers."""
    for role in ("api", "scheduler", "scheduler", "executor"):
        await cluster.start(role)
    return Policies(cluster)


async def test_each_policy_is_kept_while_runs_take_longer_than_it_is_to_the_next(
    policies: Policies,
) -> None:
    cluster = policies.cluster
    first = await cluster.whole_second(5)
    end = first + 9 * SECOND
    await policies.put(first, end, *POLICIES)
    await cluster.pass_by(end)
    await cluster.check(end)
    most = {policy: most_at_once(policies.calls(policy)) for policy in POLICIES}
    assert most.pop("allow") > 1
    assert most == {"skip": 1, "queue": 1, "replace": 1}

    states = {policy: await policies.states(policy, end) for policy in POLICIES}
    assert states["allow"] == {"succeeded": 9}
    assert states["skip"].keys() == {"succeeded", "skipped"}
    # Each takes the place of three, or of more where it takes longer to begin; and one waits.
    assert 2 <= states["skip"]["succeeded"] <= 4
    assert 3 <= states["queue"]["succeeded"] <= 5
    assert states["replace"]["succeeded"] == 1  # the last, which nothing replaced
    assert states["replace"]["cancelled"] > 3
    for policy in ("skip", "queue"):
        for row in await cluster.rows(ROWS, policies.jobs[policy], end):
            if row["state"] == "skipped":
                assert row["reason"].startswith("overlap: run "), row
                assert " is still " in row["reason"], row
    cancelled = await cluster.rows(ROWS, policies.jobs["replace"], end)
    reasons = {
        row["reason"] for row in cancelled if not row["attempt"] and row["state"] != "skipped"
    }
    assert all(reason.startswith("overlap: replaced by the run of ") for reason in reasons)
    dues = [call.due_at for call in policies.calls("queue")]
    assert dues == sorted(dues, key=str)
    await policies.audit()


async def test_nothing_piles_up_after_an_outage_of_all_schedulers(policies: Policies) -> None:
    cluster = policies.cluster
    schedulers = [role for role in cluster.roles if role.role == "scheduler"]
    first = await cluster.whole_second(5)
    end = first + 14 * SECOND
    await policies.put(first, end, "skip", "queue", misfire={"policy": "all"})
    await cluster.pass_by(first + 2 * SECOND)
    for role in schedulers:
        await role.kill()
    await asyncio.sleep(5)
    back = await cluster.now()
    for role in schedulers:
        await role.start()
    await cluster.pass_by(end)
    await cluster.check(end)
    for policy, at_most in (("skip", 4), ("queue", 5)):
        calls = policies.calls(policy)
        assert most_at_once(calls) == 1
        since = [call for call in calls if call.arrived_ns > back.timestamp() * NS]
        assert 0 < len(since) <= at_most
        states = await policies.states(policy, end)
        assert states["succeeded"] + states["skipped"] == 14
        missed = await cluster.value(
            "SELECT count(*) FROM runs WHERE job_id = $1 AND state = 'skipped'"
            " AND reason LIKE 'overlap: run % is still %' AND due_at < $2"
            " AND claimed_at > due_at + interval '2 s'",
            *(policies.jobs[policy], back),
        )
        assert missed > 1
    await policies.audit()


async def test_a_trigger_beside_a_run_is_skipped_unless_it_may_overlap(policies: Policies) -> None:
    cluster = policies.cluster
    over = cluster.folder / "over"
    wait = f"until test -e {over}; do sleep 0.1; done"
    script = command_script(cluster.folder / "calls", wait)
    job = await cluster.put_job("skip", target={"command": {"argv": ["sh", "-c", script]}})
    policies.jobs["skip"] = job
    code, told = await type_command(cluster, *TRIGGER)
    assert code == 0
    assert told.split()[0] in STARTING, told
    first = told.split()[1]
    await until(lambda: policies.calls("skip"), 10)
    code, told = await type_command(cluster, *TRIGGER)
    assert code == 1
    state, _, name, reason = told.split(maxsplit=3)
    assert (state, name) == ("skipped", "e2e/skip:")
    assert reason.startswith(f"overlap: run {first} due ")
    assert reason.endswith(" is still running\n")
    code, told = await type_command(cluster, *TRIGGER, "--allow-overlap")
    assert code == 0
    assert told.split()[0] in STARTING, told
    await until(lambda: most_at_once(policies.calls("skip")) == 2, 10)
    assert len(policies.calls("skip")) == 2
    over.touch()
