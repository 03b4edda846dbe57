"""A database that goes back in time, as an asynchronous fail-over or a restore makes it do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from copy import copy
from typing import Any, TypeVar, cast
from uuid import UUID

from matins.domain.values.errors import UnavailableError
from matins.testing.memory.locks import KeyLocks
from matins.testing.memory.rows import LetterRows, RunRow
from matins.testing.memory.world import World

T = TypeVar("T")


def copy_rows(world: World) -> dict[str, Any]:
    """Return a copy of all rows, to go back to."""
    runs = {key: copy(row) for key, row in world.runs.items()}
    by_job: dict[UUID, list[RunRow]] = {}
    for run in sorted(runs.values(), key=lambda run: run.due_at):
        by_job.setdefault(run.job_id, []).append(run)
    return {
        "teams": dict(world.teams),
        "calendars": {key: copy(row) for key, row in world.calendars.items()},
        "jobs": {key: copy(row) for key, row in world.jobs.items()},
        "revisions": {key: list(rows) for key, rows in world.revisions.items()},
        "runs": runs,
        "runs_by_id": {run.id: run for run in runs.values()},
        "runs_by_job": by_job,
        "links_again": set(world.links_again),
        "attempts": dict(world.attempts),
        "trigger_keys": dict(world.trigger_keys),
        "dead_letters": LetterRows(world.dead_letters),
        "replays": dict(world.replays),
        "alerts": world.alerts.copied(),
        "partitions": {key: copy(row) for key, row in world.partitions.items()},
        "leases": dict(world.leases),
        "leaving": set(world.leaving),
        "executors": {key: copy(row) for key, row in world.executors.items()},
        "handouts": {key: list(ids) for key, ids in world.handouts.items()},
        "queues": {pool: list(heap) for pool, heap in world.queues.items()},
        "pools": dict(world.pools),
        "weights": dict(world.weights),
        "waiting": dict(world.waiting),
        "backfills": {key: row.copied() for key, row in world.backfills.items()},
        "rules": dict(world.rules),
        "gates": world.gates.copied(),
        "zone_data": world.zone_data,
        "days": set(world.days),
        "past_days": set(world.past_days),
        "dropped_until": world.dropped_until,
        "purges": dict(world.purges),
        "restores": list(world.restores),
        "walk": world.walk,
    }


def go_back(world: World, rows: dict[str, Any]) -> None:
    """Let a world be as it was when its rows were copied; what it told since then is lost."""
    for name, table in rows.items():
        setattr(world, name, table)
    world.locks = KeyLocks()
    world.era += 1
    world.rewound.set()
    world.rewound = asyncio.Event()


async def era_over(world: World, era: int) -> None:
    """Return once an era of a world is over."""
    while world.era == era:
        await world.rewound.wait()


def pinned(port: T, world: World) -> T:
    """Return the same port for the present era of its world only: every later call of it fails."""
    return cast("T", _Pinned(port, world))


class _Pinned:
    def __init__(self, port: object, world: World) -> None:
        self._port = port
        self._world = world
        self._era = world.era

    def __getattr__(self, name: str) -> Callable[..., object]:
        method = getattr(self._port, name)

        async def call(*args: object, **named: object) -> object:
            if self._world.era != self._era:
                raise UnavailableError("another database has taken over")
            return await method(*args, **named)

        return call
