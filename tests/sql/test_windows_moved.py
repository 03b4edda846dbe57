"""A window that changes, or goes, takes along what it holds: no run is lost by it, none doubled."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from tests.sql.owned import EVERY_MINUTE, MINUTE, TEAM
from tests.sql.windowed import Windowed, labelled, minute, window, windowed

from matins.domain.runs.states import RunState
from matins.domain.values.errors import NotFoundError

SECOND = timedelta(seconds=1)


def held_until(number: int) -> str:
    return f"held by maintenance upgrade until 2026-03-02T12:0{number}:00Z"


@pytest.fixture
async def world(dsn: str) -> AsyncIterator[Windowed]:
    """A run of 12:01 that a window holds until 12:04."""
    async with windowed(dsn) as world:
        await world.owners.create(TEAM, EVERY_MINUTE)
        await world.put(window(1, 4))
        assert await world.fire_at(minute(1)) == held_until(4)
        yield world


async def test_a_window_that_is_deleted_lets_go_at_the_next_look(world: Windowed) -> None:
    deleted = await world.window_owner.delete(TEAM, "upgrade")
    assert (deleted.change, deleted.held) == ("deleted", 1)
    assert await world.look() == 1
    assert await world.newest() == (RunState.QUEUED, "queued")
    with pytest.raises(NotFoundError):
        await world.window_owner.delete(TEAM, "upgrade")


async def test_a_window_that_is_to_end_sooner_lets_go_then(world: Windowed) -> None:
    changed = await world.put(window(1, 3))
    assert (changed.change, changed.held) == ("changed", 1)
    assert await world.look() == 0
    assert (await world.newest())[1] == held_until(3)
    assert await world.look(minute(3) - SECOND) == 0
    assert await world.look(minute(3)) == 1


async def test_a_window_that_is_to_end_later_holds_until_then(world: Windowed) -> None:
    await world.put(window(1, 6))
    assert await world.look() == 0
    assert (await world.newest())[1] == held_until(6)
    assert await world.look(minute(4)) == 0
    assert await world.look(minute(6)) == 1


async def test_a_window_extended_at_its_very_end_goes_on_holding(world: Windowed) -> None:
    world.now = minute(4) - SECOND
    due = await world.coming_up()
    await world.put(window(1, 6))
    await world.look(minute(4))
    await world.admit(due)
    assert await world.queued() == 0
    assert await world.look(minute(6)) == 1


async def test_a_window_that_is_to_begin_later_lets_go_for_now(world: Windowed) -> None:
    await world.put(window(2, 4))
    assert await world.look(minute(1) + SECOND) == 1


async def test_a_window_that_means_other_jobs_now_keeps_only_theirs(world: Windowed) -> None:
    await world.owners.create(TEAM, labelled(tier="gold"))
    assert await world.fire_at(minute(2), "gold") == held_until(4)
    changed = await world.put(window(1, 4, labels={"tier": "gold"}))
    assert (changed.jobs, changed.held) == (1, 2)
    assert await world.look() == 1
    assert await world.held() == 1
    assert (await world.newest("gold"))[1] == held_until(4)


async def test_a_window_that_is_to_skip_now_goes_on_holding_what_it_holds(world: Windowed) -> None:
    await world.put(window(1, 4, policy="skip"))
    assert await world.fire_at(minute(2)) == "maintenance upgrade: new disks"
    assert await world.look() == 0
    assert await world.held() == 1
    assert await world.look(minute(4)) == 1


async def test_a_retry_that_is_held_is_let_go_too(world: Windowed) -> None:
    await world.window_owner.delete(TEAM, "upgrade")
    await world.look()
    attempt = await world.begin()
    world.now = minute(2)
    await world.put(window(2, 9))
    await world.fail(attempt, MINUTE)
    assert await world.look(minute(3)) == 0
    await world.window_owner.delete(TEAM, "upgrade")
    assert await world.look() == 1
    assert (await world.status(attempt.run_id)).retry_at is None


async def test_a_claim_under_way_while_a_window_goes_leaves_nothing_held_for_ever(
    world: Windowed,
) -> None:
    async with world.database.transaction() as session:
        await session.execute("DELETE FROM windows")
        await session.execute("UPDATE teams SET rules_revision = rules_revision + 1")
        assert await world.fire_at(minute(2)) == held_until(4)  # as it began before the end of this
    assert await world.look() == 2


async def test_what_was_found_due_before_a_change_is_put_on_the_queue_once(world: Windowed) -> None:
    world.now = minute(4)
    due = await world.coming_up()
    world.now = minute(4) - SECOND
    await world.window_owner.delete(TEAM, "upgrade")
    assert await world.look() == 1
    world.now = minute(4)
    await world.admit(due)
    await world.admit(due)
    assert await world.queued() == 1


async def test_a_look_changes_nothing_of_what_a_window_holds_as_it_is(world: Windowed) -> None:
    async with world.database.session() as session:
        before = await session.fetch("SELECT xmin::text, * FROM waiting")
        for _ in range(3):
            await world.look()
        assert await session.fetch("SELECT xmin::text, * FROM waiting") == before
