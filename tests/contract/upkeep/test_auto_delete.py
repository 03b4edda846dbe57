"""Jobs with `delete_after` expire, on memory and on PostgreSQL."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import UUID

import msgspec
import pytest
from tests.contract.ports.ground import SPEC, START, Ground, claim

from matins.domain.executors.protocol import End, Ending, Heartbeat, Poll
from matins.domain.runs.attempts import Result
from matins.domain.runs.claims import Advance
from matins.domain.runs.states import Outcome, RunState
from matins.domain.schedules.schedule import Schedule
from matins.domain.values.errors import NotFoundError
from matins.upkeep.auto_delete import AutoDelete

TEAM = "default"
HOUR_S = 3600.0
DUE = START + timedelta(minutes=1)
ONCE = msgspec.structs.replace(SPEC, schedule=Schedule(at=DUE.isoformat(), delete_after="1h"))
HOLDER, EXECUTOR = UUID(int=1), UUID(int=3)


async def exists(ground: Ground) -> bool:
    """Return whether the job is there after the upkeep has looked."""
    await AutoDelete(ground.ended_jobs, ground.owners.upkeep, asyncio.Event()).delete()
    try:
        await ground.owners.jobs.resume(TEAM, ONCE.name)
    except NotFoundError:
        return False
    return True


async def start(ground: Ground) -> UUID:
    """Make a job, and start its only run."""
    job = (await ground.owners.jobs.put(TEAM, ONCE)).job.id
    ground.clock.move(60)
    epochs = await ground.all_leases(HOLDER)
    made = await ground.agenda.claim(HOLDER, epochs, [claim(job, DUE)])
    await ground.advance(Advance(job, 1, None, None, DUE))
    await ground.dispatch.heartbeat(Heartbeat(EXECUTOR, "e", ["default"], 9, 2, [1]))
    await ground.dispatch.dequeue(Poll(EXECUTOR, 1, ["default"], 9), "default")
    [run] = made.made
    return run


async def end(ground: Ground, run: UUID) -> None:
    """Let a run succeed."""
    ending = Ending(End(run, 1, Result(Outcome.SUCCEEDED)), RunState.SUCCEEDED, "")
    assert await ground.dispatch.record(EXECUTOR, [ending])


async def test_a_job_goes_so_long_after_its_last_run_has_ended_and_not_before(
    ground: Ground,
) -> None:
    await end(ground, await start(ground))
    ground.clock.move(HOUR_S - 1)
    assert await exists(ground)
    ground.clock.move(1)
    assert not await exists(ground)


async def test_a_job_stays_while_a_run_goes_on(ground: Ground) -> None:
    run = await start(ground)
    ground.clock.move(9 * HOUR_S)
    assert await exists(ground)
    await end(ground, run)
    assert await exists(ground)
    ground.clock.move(HOUR_S)
    assert not await exists(ground)


async def test_a_job_stays_while_a_run_goes_on_that_was_triggered(ground: Ground) -> None:
    await end(ground, await start(ground))
    triggered = await ground.owners.runs.trigger(TEAM, ONCE.name)
    ground.clock.move(HOUR_S)
    assert await exists(ground)
    await ground.owners.runs.cancel(triggered.id)
    assert not await exists(ground)


async def test_a_job_stays_while_it_has_a_due_time_ahead(ground: Ground) -> None:
    await ground.owners.jobs.put(TEAM, ONCE)
    ground.clock.move(9 * HOUR_S)
    assert await exists(ground)


async def test_a_job_that_was_never_due_counts_from_when_it_was_written(ground: Ground) -> None:
    past = Schedule(at=(START - timedelta(days=1)).isoformat(), delete_after="1h")
    await ground.owners.jobs.put(TEAM, msgspec.structs.replace(ONCE, schedule=past))
    ground.clock.move(HOUR_S - 1)
    assert await exists(ground)
    ground.clock.move(1)
    assert not await exists(ground)


@pytest.mark.parametrize("change", ["pause", "edit"])
async def test_a_job_that_changes_meanwhile_is_left_alone(ground: Ground, change: str) -> None:
    await end(ground, await start(ground))
    ground.clock.move(HOUR_S)
    [ended] = await ground.ended_jobs.ended_jobs(UUID(int=0), 9)
    if change == "pause":
        await ground.owners.jobs.pause(TEAM, ONCE.name)
    else:
        await ground.owners.jobs.put(TEAM, msgspec.structs.replace(ONCE, timeout="9s"))
    assert not await ground.owners.upkeep.delete_ended(ended.job, "delete_after")
