"""Teams and priorities in one pool, through real processes: who starts when.

    python -m bench.fairness [--only burst|weights|priorities]

`burst`: one team has 100,000 runs due at one instant, another ten a second later. `weights`: two
teams of weights 1 and 3 have 6,000 runs each at one instant. `priorities`: ten runs that are low
beside a stream that is high, of more than the pool can start. The targets do nothing, all times
are the database's.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path

import asyncpg
import uvloop

from bench.end_to_end import LEAD_S, until, whole_second
from bench.ground import SECOND, fill_jobs, folder, postgres
from bench.processes import roles
from matins.domain.jobs.spec import PRIORITIES
from matins.domain.runs.ranking import HEAD_STARTS_S
from matins.domain.schedules.schedule import Schedule

HIGH, NORMAL, LOW = PRIORITIES["high"], PRIORITIES["normal"], PRIORITIES["low"]
WAIT_S = HEAD_STARTS_S[HIGH] - HEAD_STARTS_S[LOW]
"""What is low is to wait for no longer than that, and for what the pool needs to note its pace."""

_STARTS = """
SELECT t.name AS team, r.started_at - r.due_at AS lag
FROM runs r
JOIN teams t ON t.id = r.team_id
WHERE r.started_at IS NOT NULL
ORDER BY r.started_at, r.rank
"""


async def main(only: str | None) -> None:
    """Run the cases, each on a database of its own."""
    cases: dict[str, Callable[[Path, str], Awaitable[None]]] = {
        "burst": burst,
        "weights": weights,
        "priorities": priorities,
    }
    for name, case in cases.items():
        if only in (None, name):
            with folder() as path:
                async with postgres(path) as dsn:
                    await case(path, dsn)


async def burst(path: Path, dsn: str, count: int = 100_000) -> None:
    """A small team behind a large one's burst."""
    due = await whole_second(dsn, LEAD_S + count / 3_000)  # all of it is in memory by then
    await _fill(dsn, count, due, team="large")
    await _fill(dsn, 10, due + SECOND, team="small")
    async with roles(path, dsn):
        await until(dsn, due)
        starts = await _started(dsn, count + 10, 120)
    lags = {team: [lag for of, lag in starts if of == team] for team in ("large", "small")}
    print(
        f"burst: 10 runs behind {count:,} started {min(lags['small']):.2f} to"
        f" {max(lags['small']):.2f} s after they were due; the others took"
        f" {max(lags['large']):.1f} s"
    )


async def weights(path: Path, dsn: str, count: int = 6_000, slots: int = 4) -> None:
    """Two teams that have more than the pool can start."""
    due = await whole_second(dsn, LEAD_S)
    await _fill(dsn, count, due, team="one", weight=1)
    await _fill(dsn, count, due, team="three", weight=3)
    async with roles(path, dsn, slots=slots):
        await until(dsn, due)
        starts = await _started(dsn, 2 * count, 180)
    last = max(place for place, (team, _) in enumerate(starts) if team == "three")
    both = [team for team, _ in starts[: last + 1]]
    print(
        f"weights: while both had runs left, weight 3 had {both.count('three') / len(both):.1%}"
        f" of {len(both):,} starts (75.0% is its share), in {starts[last][1]:.1f} s"
    )


async def priorities(path: Path, dsn: str, rate: int = 600, slots: int = 2) -> None:
    """A few that are low beside a stream that is high, of another team."""
    due = await whole_second(dsn, 2 * LEAD_S)
    await _fill(dsn, 2_000, due - LEAD_S * SECOND, team="before")  # the pace of the pool is known
    every = Schedule(every="1s", anchor=due.isoformat())
    await fill_jobs(dsn, rate, every, due, team="stream", priority=HIGH)
    await _fill(dsn, 10, due + 5 * SECOND, team="low", priority=LOW)
    async with roles(path, dsn, slots=slots):
        await until(dsn, due)
        starts = await _started_of(dsn, "low", 10, WAIT_S + 60)
        session = await asyncpg.connect(dsn)
        left = await session.fetchval("SELECT count(*) FROM dispatch")
        await session.close()
    print(
        f"priorities: 10 low runs started {min(starts):.1f} to {max(starts):.1f} s after they were"
        f" due ({WAIT_S} s is stated), beside {rate}/s that are high, of which {left:,} were left"
    )


async def _fill(
    dsn: str, count: int, due: datetime, *, team: str, weight: int = 1, priority: int = NORMAL
) -> None:
    schedule = Schedule(at=due.isoformat())
    await fill_jobs(dsn, count, schedule, due, team=team, weight=weight, priority=priority)


async def _started(dsn: str, count: int, within_s: float) -> list[tuple[str, float]]:
    """Wait until so many runs have started; give their teams and lags in the order of that."""
    session = await asyncpg.connect(dsn)
    async with asyncio.timeout(within_s):
        while await session.fetchval("SELECT count(*) FROM runs WHERE attempt > 0") < count:
            await asyncio.sleep(2)
    rows = await session.fetch(_STARTS)
    await session.close()
    return [(row["team"], _seconds(row["lag"])) for row in rows]


async def _started_of(dsn: str, team: str, count: int, within_s: float) -> list[float]:
    session = await asyncpg.connect(dsn)
    lags: list[float] = []
    async with asyncio.timeout(within_s):
        while len(lags) < count:
            await asyncio.sleep(2)
            rows = await session.fetch(f"SELECT lag FROM ({_STARTS}) AS s WHERE team = $1", team)
            lags = [_seconds(row["lag"]) for row in rows]
    await session.close()
    return lags


def _seconds(lag: timedelta) -> float:
    return lag.total_seconds()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("burst", "weights", "priorities"))
    uvloop.run(main(parser.parse_args().only))
