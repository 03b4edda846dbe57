"""A maintenance window over real processes: what it holds runs after it, whoever dies meanwhile."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from tests.e2e.cluster import Cluster, until

from matins.testing.call_recorder import read_calls
from matins.testing.calls import Call
from matins.testing.index import to_ns

JOBS = 8
SECOND = timedelta(seconds=1)
HELD = "SELECT count(*) FROM runs WHERE state = 'waiting' AND reason LIKE 'held by maintenance %'"


async def put_window(cluster: Cluster, ends_at: datetime) -> datetime:
    """Put the window `upgrade` from now on; gives the moment at which it was acknowledged."""
    body: dict[str, object] = {"name": "upgrade", "starts_at": f"{await cluster.now():%FT%TZ}"}
    body |= {"ends_at": ends_at.isoformat(), "reason": "new disks"}
    url = f"{cluster.urls[0]}/v1/teams/e2e/windows/upgrade"
    async with cluster.http.put(url, json=body) as answer:
        assert answer.status == 200, await answer.text()
    return await cluster.now()


async def audited(cluster: Cluster) -> list[dict[str, Any]]:
    """Return what the audit finds, job by job."""
    async with cluster.http.get(f"{cluster.urls[0]}/v1/audit?team=e2e") as answer:
        found: list[dict[str, Any]] = (await answer.json())["jobs"]
        return found


def calls_due(cluster: Cluster, since: datetime, before: datetime) -> list[Call]:
    """Return the calls for what was due in between."""
    calls = read_calls(cluster.folder / "calls")
    return [call for call in calls if call.due_at and since <= call.due_at < before]


async def test_nothing_is_called_while_a_window_holds_and_all_of_it_after(cluster: Cluster) -> None:
    await cluster.start("api")
    doomed = await cluster.start("scheduler")
    await cluster.start("scheduler")
    await cluster.start("executor")
    first = await cluster.whole_second(5)
    window_ends = first + 10 * SECOND
    end = first + 14 * SECOND
    await cluster.put_every_second(JOBS, first, end)
    await cluster.pass_by(first + 3 * SECOND)
    since = await put_window(cluster, window_ends)
    await until(lambda: cluster.value(HELD), 5)
    await doomed.kill()
    await cluster.pass_by(window_ends - SECOND)
    assert calls_due(cluster, since, window_ends) == []
    assert await cluster.value(HELD) >= 3 * JOBS
    await doomed.start()
    await cluster.pass_by(end)
    counts = await cluster.check(end)
    held = calls_due(cluster, since, window_ends)
    assert len(held) >= 6 * JOBS
    assert min(call.arrived_ns for call in held) >= to_ns(window_ends)
    assert counts["runs succeeded"] >= JOBS * 14
    assert counts["take-overs"] > 0
    for found in await audited(cluster):
        assert (found["missing_count"], found["unexpected_count"]) == (0, 0), found


async def test_a_window_that_is_deleted_lets_go_at_once(cluster: Cluster) -> None:
    await cluster.start("api")
    await cluster.start("scheduler")
    await cluster.start("executor")
    first = await cluster.whole_second(5)
    end = first + 6 * SECOND
    await cluster.put_every_second(JOBS, first, end)
    await put_window(cluster, end + timedelta(hours=1))
    await cluster.pass_by(end)
    assert await cluster.value(HELD) >= 5 * JOBS
    url = f"{cluster.urls[0]}/v1/teams/e2e/windows/upgrade"
    async with cluster.http.delete(url) as answer:
        assert (await answer.json())["held"] >= 5 * JOBS
    deleted_at = await cluster.now()
    counts = await cluster.check(end)
    assert counts["runs succeeded"] >= JOBS * 6
    late = [call.arrived_ns for call in calls_due(cluster, first, end)]
    assert max(late) < to_ns(deleted_at + 5 * SECOND)
