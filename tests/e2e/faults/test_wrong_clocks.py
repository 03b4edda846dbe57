"""The hosts' clocks are wrong, the database's is right."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.e2e.cluster import Cluster, Role
from tests.e2e.faults.scenes import check_load, load, shared_by, start_scheduler

SHIFT = """
import ctypes, datetime, gc, os, time

flag, shift_s = os.environ["STEP_CLOCK"], float(os.environ["SHIFT_CLOCK_S"])
by_s = lambda: shift_s - 3600 * os.path.exists(flag)
right_time, right_time_ns, right_now = time.time, time.time_ns, datetime.datetime.now
time.time = lambda: right_time() + by_s()
time.time_ns = lambda: right_time_ns() + int(by_s() * 1e9)
[names] = gc.get_referents(datetime.datetime.__dict__)
names["now"] = classmethod(lambda _, tz=None: right_now(tz) + datetime.timedelta(seconds=by_s()))
ctypes.pythonapi.PyType_Modified(ctypes.py_object(datetime.datetime))
"""
"""Runs at the start of a process, and moves the wall clock that Python code of it sees; by an hour
less as soon as a file is there.
"""

AHEAD_S, BEHIND_S, STEP_S = 3600.0, -600.0, -3600.0


def shifted(cluster: Cluster, by_s: float) -> dict[str, str]:
    """Return the settings of a role whose host's clock is wrong by so much."""
    (cluster.folder / "shift").mkdir(exist_ok=True)
    (cluster.folder / "shift" / "sitecustomize.py").write_text(SHIFT)
    path = [str(cluster.folder / "shift"), *filter(None, [os.environ.get("PYTHONPATH")])]
    shift = {"SHIFT_CLOCK_S": str(by_s), "STEP_CLOCK": str(cluster.folder / "step")}
    return shift | {"PYTHONPATH": os.pathsep.join(path)}


def wrong_by(log: Path) -> timedelta:
    """Return how wrong the clock was by which a role has written its last log line, about."""
    [*_, last] = [line for line in log.read_text().splitlines() if line[:1] == "{"]
    return datetime.fromisoformat(json.loads(last)["timestamp"]) - datetime.now(UTC)


async def test_wrong_clocks_of_hosts_move_no_due_time_and_no_lease(cluster: Cluster) -> None:
    """TM-05: an hour ahead and ten minutes behind, each role in its way; nothing is late or early,
    and no lease changes hands. TM-06: the same when each clock steps back by an hour meanwhile.
    """
    await cluster.start("api", **shifted(cluster, AHEAD_S))
    behind = await start_scheduler(cluster, **shifted(cluster, BEHIND_S))
    ahead = await start_scheduler(cluster, **shifted(cluster, AHEAD_S))
    await cluster.start("executor", **shifted(cluster, BEHIND_S))
    roles: list[tuple[Role, float]] = [(behind.role, BEHIND_S), (ahead.role, AHEAD_S)]
    for role, by_s in roles:
        assert abs(wrong_by(role.log) - timedelta(seconds=by_s)) < timedelta(minutes=1)

    steady = await load(cluster, 40)
    await cluster.pass_by(steady.first + timedelta(seconds=2))
    (cluster.folder / "step").touch()
    await cluster.pass_by(steady.first + timedelta(seconds=5))
    counts = await check_load(cluster, steady)
    assert await shared_by(cluster, 2, 1) == {behind.id, ahead.id}
    assert counts["runs succeeded"] >= counts["due"]
    assert counts["take-overs"] == 0
    for role, _ in roles:
        assert not role.said("leases.lost")
        assert not role.said("clock.jumped")
    lag = await cluster.value("SELECT max(claimed_at - due_at) FROM runs")
    assert lag < timedelta(seconds=1.5)
    silence = await cluster.value("SELECT clock_timestamp() - max(heartbeat_at) FROM executors")
    assert silence < timedelta(seconds=4)
    for role, by_s in roles:
        await role.end()
        assert abs(wrong_by(role.log) - timedelta(seconds=by_s + STEP_S)) < timedelta(minutes=1)
