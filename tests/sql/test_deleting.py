"""What becomes of the runs of a job that is deleted: none begins, and all are still found."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import asyncpg
import pytest
from tests.sql.owned import EVERY_MINUTE, MINUTE, TEAM, spec
from tests.sql.test_races import is_blocked
from tests.sql.windowed import Windowed, labelled, minute, window, windowed

from matins.domain.executors.protocol import Heartbeat, Running
from matins.domain.runs.states import RunState
from matins.domain.values.errors import NotFoundError


@pytest.fixture
async def world(dsn: str) -> AsyncIterator[Windowed]:
    async with windowed(dsn) as world:
        yield world


async def states(world: Windowed) -> list[RunState]:
    """Return the states of the newest job's runs, by due time."""
    page = await world.reads.runs_of_job(TEAM, "job", None, 100)
    return [run.state for run in reversed(page.runs)]


async def tried(world: Windowed) -> Running:
    """Return what is known of the attempt that runs when it ends badly."""
    page = await world.reads.runs_of_job(TEAM, "job", None, 1)
    [running] = await world.dispatch.running_runs(world.executor, [page.runs[0].id])
    return running


async def test_what_waits_is_cancelled_and_counted(world: Windowed) -> None:
    await world.owners.create(TEAM, EVERY_MINUTE)
    await world.fire_at(minute(1))
    await world.fail(await world.begin(), timedelta(hours=1))
    for at in (2, 3):
        await world.fire_at(minute(at))
    deleted = await world.owners.delete(TEAM, "job")
    assert deleted.cancelled == 3
    assert await states(world) == [RunState.CANCELLED] * 3
    assert await world.look(minute(120)) == 0


async def test_what_a_window_holds_is_cancelled_too(world: Windowed) -> None:
    await world.owners.create(TEAM, EVERY_MINUTE)
    await world.put(window(1, 60))
    await world.fire_at(minute(1))
    assert (await world.owners.delete(TEAM, "job")).cancelled == 1
    assert await world.look(minute(61)) == 0


async def test_another_jobs_runs_wait_on(world: Windowed) -> None:
    for name in ("job", "other"):
        await world.owners.create(TEAM, spec(None, name=name))
        await world.manual.trigger(TEAM, name)
    assert (await world.owners.delete(TEAM, "job")).cancelled == 1
    assert await world.queued() == 1


async def test_what_runs_goes_on_and_is_not_tried_again(world: Windowed) -> None:
    await world.owners.create(TEAM, spec(None))
    await world.manual.trigger(TEAM, "job")
    await world.begin()
    assert not (await tried(world)).tried.cancel_requested
    assert (await world.owners.delete(TEAM, "job")).cancelled == 0
    assert await states(world) == [RunState.RUNNING]
    assert (await tried(world)).tried.cancel_requested


async def test_what_was_handed_out_and_never_arrived_does_not_wait_again(world: Windowed) -> None:
    await world.owners.create(TEAM, spec(None))
    await world.manual.trigger(TEAM, "job")
    await world.begin()
    await world.owners.delete(TEAM, "job")
    await world.dispatch.heartbeat(Heartbeat(world.executor, "one", ["default"], 9, 2))
    assert (await states(world), await world.queued()) == ([RunState.CANCELLED], 0)


async def test_what_is_being_claimed_meanwhile_does_not_begin(world: Windowed, dsn: str) -> None:
    """The claim looks at the job before the deletion, and is committed after it."""
    await world.owners.create(TEAM, labelled(of="another"))
    await world.owners.create(TEAM, EVERY_MINUTE)
    await world.fire_at(minute(1), "another")  # the day has its table, and the leases are held
    async with locked(dsn, "SELECT FROM partitions FOR UPDATE") as session:
        claiming = asyncio.create_task(world.fire())
        await is_blocked(session)
        world.now = minute(1) - timedelta(seconds=1)
        assert (await world.owners.delete(TEAM, "job")).cancelled == 0
    await claiming
    assert (await states(world), await world.queued()) == ([RunState.QUEUED], 2)
    assert [attempt.job for attempt in await world.dequeue()] == ["another"]
    assert await world.newest() == (RunState.CANCELLED, "its job was deleted")


async def test_what_is_recorded_for_a_retry_meanwhile_does_not_begin_again(
    world: Windowed, dsn: str
) -> None:
    await world.owners.create(TEAM, spec(None))
    await world.manual.trigger(TEAM, "job")
    attempt = await world.begin()
    async with locked(dsn, "SELECT FROM runs FOR UPDATE") as session:
        recording = asyncio.create_task(world.fail(attempt, MINUTE))
        await is_blocked(session)
        await world.owners.delete(TEAM, "job")
    assert (await recording).state is RunState.RETRYING
    assert await world.look(minute(2)) == 1
    assert await world.dequeue() == []
    assert await world.newest() == (RunState.CANCELLED, "its job was deleted")


@asynccontextmanager
async def locked(dsn: str, query: str) -> AsyncIterator[asyncpg.Connection]:
    """Hold what a query locks, for as long as the block lasts."""
    session = await asyncpg.connect(dsn)
    async with session.transaction():
        await session.execute(query)
        yield session
    await session.close()


async def test_its_runs_are_still_listed_by_team_and_by_name(world: Windowed) -> None:
    await world.owners.create(TEAM, EVERY_MINUTE)
    await world.fire_at(minute(1))
    await world.owners.delete(TEAM, "job")
    of_team = await world.reads.runs(TEAM, list(RunState), None, None, 10)
    of_job = await world.reads.runs_of_job(TEAM, "job", None, 10)
    assert [run.reason for run in of_team.runs] == ["its job was deleted"]
    assert of_team == of_job


async def test_a_new_job_of_its_name_is_another_one(world: Windowed) -> None:
    await world.owners.create(TEAM, EVERY_MINUTE)
    await world.fire_at(minute(1))
    await world.owners.delete(TEAM, "job")
    await world.owners.create(TEAM, spec(None))
    assert await states(world) == []


async def test_of_several_jobs_that_had_a_name_the_last_ones_runs_are_listed(
    world: Windowed,
) -> None:
    for at in (1, 2):
        await world.owners.create(TEAM, spec(None))
        world.now = minute(at)
        await world.manual.trigger(TEAM, "job")
        await world.owners.delete(TEAM, "job")
    page = await world.reads.runs_of_job(TEAM, "job", None, 10)
    assert [run.due_at for run in page.runs] == [minute(2)]


async def test_who_asks_for_it_is_told_that_its_runs_are_still_there(world: Windowed) -> None:
    await world.owners.create(TEAM, spec(None))
    world.now += MINUTE
    await world.owners.delete(TEAM, "job")
    with pytest.raises(
        NotFoundError, match="one was deleted at 2026-03-02T12:01:00Z, and its runs"
    ):
        await world.reads.job(TEAM, "job")
