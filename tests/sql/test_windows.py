"""What meets a maintenance window is held back or skipped by the claim itself, and has its row."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from tests.sql.owned import EVERY_MINUTE, MINUTE, NOON, TEAM, spec
from tests.sql.windowed import Windowed, labelled, minute, window, windowed

from matins.domain.jobs.windows import KEPT
from matins.domain.runs.states import RunState
from matins.domain.schedules.schedule import Schedule
from matins.domain.values.errors import ConflictError, InvalidInputError, NotFoundError
from matins.owners.windows import WINDOWS_MAX
from matins.store.windows import windows_of

SECOND = timedelta(seconds=1)
HELD = "held by maintenance upgrade until 2026-03-02T12:04:00Z"
SKIPPED = "maintenance upgrade: new disks"


@pytest.fixture
async def world(dsn: str) -> AsyncIterator[Windowed]:
    async with windowed(dsn) as world:
        await world.owners.create(TEAM, EVERY_MINUTE)
        yield world


async def test_a_run_that_is_held_has_its_row_and_no_place_on_the_queue(world: Windowed) -> None:
    await world.put(window(2, 4))
    assert await world.fire_at(minute(1)) == "queued"
    assert await world.fire_at(minute(2)) == HELD
    assert await world.newest() == (RunState.WAITING, HELD)
    assert (await world.queued(), await world.held()) == (1, 1)


async def test_what_was_held_runs_when_the_window_ends_and_not_before(world: Windowed) -> None:
    await world.put(window(1, 4))
    for number in (1, 2, 3):
        assert await world.fire_at(minute(number)) == HELD
    assert await world.look(minute(4) - SECOND) == 0
    assert await world.look(minute(4)) == 3
    assert await world.rows() == [(number, "queued", 1) for number in (1, 2, 3)]
    assert await world.held() == 0


async def test_a_window_begins_at_its_first_instant_and_is_over_at_its_last(
    world: Windowed,
) -> None:
    await world.put(window(2, 4, policy="skip"))
    told = [await world.fire_at(minute(number)) for number in (1, 2, 3, 4)]
    assert told == ["queued", SKIPPED, SKIPPED, "queued"]


async def test_a_window_holds_from_the_moment_it_was_acknowledged(world: Windowed) -> None:
    assert await world.fire_at(minute(1)) == "queued"
    world.now = minute(1) + SECOND
    await world.put(window(0, 4))
    assert await world.fire_at(minute(2)) == HELD


async def test_what_should_have_fired_in_a_window_that_skips_is_skipped_however_late(
    world: Windowed,
) -> None:
    await world.put(window(1, 2, policy="skip"))
    assert await world.fire_at(minute(1) + 90 * SECOND) == "queued"
    assert await world.rows() == [(1, SKIPPED, 1), (2, "queued", 1)]


async def test_what_comes_late_into_a_window_that_skips_is_skipped(world: Windowed) -> None:
    await world.put(window(1.2, 2, policy="skip"))
    assert await world.fire_at(minute(1) + 15 * SECOND) == SKIPPED


async def test_what_is_late_because_of_something_else_runs_after_a_window_that_held(
    world: Windowed,
) -> None:
    await world.put(window(1, 2))
    await world.fire_at(minute(2) + 30 * SECOND)
    assert await world.rows() == [(1, "queued", 1), (2, "queued", 1)]


async def test_jobs_without_the_labels_go_on(world: Windowed) -> None:
    for job in (labelled(tier="gold"), labelled(tier="gold", zone="eu"), labelled(tier="tin")):
        await world.owners.create(TEAM, job)
    put = await world.put(window(1, 4, labels={"tier": "gold", "zone": "eu"}))
    assert put.jobs == 1
    assert await world.fire_at(minute(1), "gold-eu") == HELD
    for other in ("gold", "tin", "job"):
        assert await world.fire_at(minute(1), other) == "queued"


async def test_other_teams_go_on(world: Windowed) -> None:
    await world.put(window(1, 4), "search")
    assert await world.fire_at(minute(1)) == "queued"


async def test_of_several_windows_one_that_skips_decides(world: Windowed) -> None:
    await world.put(window(1, 9, name="long"))
    await world.put(window(1, 4, policy="skip"))
    assert await world.fire_at(minute(1)) == SKIPPED


async def test_of_several_windows_that_hold_the_last_to_end_decides(world: Windowed) -> None:
    for name, end in (("a", 3), ("upgrade", 4), ("b", 2)):
        await world.put(window(1, end, name=name))
    assert await world.fire_at(minute(1)) == HELD
    assert await world.look(minute(3)) == 0
    assert await world.look(minute(4)) == 1


async def test_what_is_held_is_held_again_by_a_window_that_overlaps_the_first_one(
    world: Windowed,
) -> None:
    await world.put(window(1, 3, name="first"))
    await world.fire_at(minute(1))
    await world.put(window(2, 4))
    assert await world.look(minute(3)) == 0
    assert (await world.newest())[1] == HELD
    assert (await world.held("first"), await world.held()) == (0, 1)
    assert await world.look(minute(4)) == 1


async def test_what_is_held_never_runs_in_a_window_that_skips(world: Windowed) -> None:
    await world.put(window(1, 3, name="first"))
    await world.fire_at(minute(1))
    await world.put(window(2, 4, policy="skip"))
    assert await world.look(minute(3)) == 0
    assert await world.look(minute(4)) == 1


@pytest.mark.parametrize("policy", ["hold", "skip"])
async def test_a_run_that_someone_triggers_runs_at_once(world: Windowed, policy: str) -> None:
    await world.put(window(0, 4, policy=policy))
    world.now = minute(1)
    assert (await world.manual.trigger(TEAM, "job")).state is RunState.QUEUED
    assert await world.queued() == 1


async def test_a_retry_waits_for_the_end_of_a_window_that_holds(world: Windowed) -> None:
    await world.fire_at(minute(1))
    attempt = await world.begin()
    await world.put(window(2, 4))
    await world.fail(attempt, MINUTE)
    assert await world.look(minute(2)) == 0
    status = await world.status(attempt.run_id)
    assert (status.state, status.reason, status.retry_at) == (RunState.WAITING, HELD, None)
    assert await world.look(minute(4)) == 1
    status = await world.status(attempt.run_id)
    assert (status.state, status.reason, status.retry_at) == (RunState.QUEUED, "", None)


async def test_a_retry_goes_on_in_a_window_that_skips(world: Windowed) -> None:
    await world.fire_at(minute(1))
    attempt = await world.begin()
    await world.put(window(2, 4, policy="skip"))
    await world.fail(attempt, MINUTE)
    assert await world.look(minute(2)) == 1
    assert (await world.status(attempt.run_id)).reason == "no"


async def test_the_retry_of_a_run_that_someone_triggered_goes_on(world: Windowed) -> None:
    world.now = minute(1)
    await world.manual.trigger(TEAM, "job")
    attempt = await world.begin()
    await world.put(window(2, 4))
    await world.fail(attempt, MINUTE)
    assert await world.look(minute(2)) == 1


async def test_a_run_that_is_held_can_be_cancelled(world: Windowed) -> None:
    await world.put(window(1, 4))
    await world.fire_at(minute(1))
    [run] = (await world.reads.runs_of_job(TEAM, "job", None, 1)).runs
    assert (await world.manual.cancel(run.id)).state is RunState.CANCELLED
    assert await world.held() == 0
    assert await world.look(minute(4)) == 0


async def test_a_retry_that_is_held_can_be_cancelled(world: Windowed) -> None:
    await world.fire_at(minute(1))
    attempt = await world.begin()
    await world.put(window(2, 4))
    await world.fail(attempt, MINUTE)
    await world.look(minute(2))
    await world.manual.cancel(attempt.run_id)
    assert await world.held() == 0
    assert await world.look(minute(4)) == 0


async def test_the_audit_holds_with_all_that_windows_do(world: Windowed) -> None:
    await world.put(window(1, 4))
    await world.put(window(6, 8, name="later", policy="skip"))
    for number in range(1, 10):
        await world.fire_at(minute(number))
    [audit] = await world.audit()
    assert audit.agrees
    assert (audit.due, audit.unfinished) == (9, 7)
    assert audit.skipped == {"maintenance later: new disks": 2}


async def test_a_job_that_follows_its_ends_goes_on_after_a_run_that_was_skipped(
    world: Windowed,
) -> None:
    await world.owners.create(TEAM, spec(Schedule(every="1m", after="end"), name="chain"))
    await world.put(window(1, 2, policy="skip"))
    assert await world.fire_at(minute(1), "chain") == SKIPPED
    [ended] = await world.ended()
    assert (ended.due_at, ended.ended_at) == (minute(1), minute(1))


async def test_an_equal_window_changes_nothing(world: Windowed) -> None:
    assert (await world.put(window(1, 4))).change == "created"
    await world.fire_at(minute(1))
    again = await world.put(window(1, 4))
    assert (again.change, again.held) == ("unchanged", 1)


async def test_a_window_that_is_over_can_still_be_put_as_it_was(world: Windowed) -> None:
    await world.put(window(1, 4))
    world.now = minute(9)
    assert (await world.put(window(1, 4))).change == "unchanged"
    with pytest.raises(InvalidInputError, match="in the past"):
        await world.put(window(1, 5))


async def test_a_window_that_is_wrong_changes_nothing(world: Windowed) -> None:
    with pytest.raises(InvalidInputError, match="must lie after"):
        await world.put(window(4, 1))
    with pytest.raises(NotFoundError):
        await world.windows.show(TEAM, "upgrade")


async def test_a_team_has_a_bounded_number_of_windows(world: Windowed) -> None:
    for number in range(WINDOWS_MAX):
        await world.put(window(1, 4, name=f"w{number}"))
    with pytest.raises(ConflictError, match="delete one first"):
        await world.put(window(1, 4))
    assert (await world.put(window(1, 5, name="w0"))).change == "changed"
    world.now = minute(4)
    assert (await world.put(window(5, 6))).change == "created"


async def test_windows_are_listed_by_their_begin_until_they_are_long_over(world: Windowed) -> None:
    await world.put(window(3, 9, name="later"))
    await world.put(window(1, 4))
    world.now = minute(2)
    kept = [(row.window.name, row.state) for row in await world.windows.of_team(TEAM)]
    assert kept == [("upgrade", "in_force"), ("later", "coming")]
    world.now = minute(4) + KEPT
    assert [row.window.name for row in await world.windows.of_team(TEAM)] == ["later"]
    await world.put(window(60 * 24 * 40, 60 * 24 * 41, name="next"))
    async with world.database.session() as session:
        assert await session.fetchval("SELECT count(*) FROM windows") == 2


async def test_the_windows_of_a_job_are_those_that_mean_it_at_some_time(world: Windowed) -> None:
    await world.put(window(1, 4, labels={"tier": "gold"}))
    await world.put(window(5, 6, name="all"))

    async def names(since: float, until: float, **labels: str) -> list[str]:
        span = minute(since), minute(until)
        return [window.name for window in await windows_of(world.database, TEAM, labels, *span)]

    assert await names(0, 9, tier="gold", zone="eu") == ["upgrade", "all"]
    assert await names(0, 9) == ["all"]
    assert await names(4, 5, tier="gold") == []
    assert await names(3, 5, tier="gold") == ["upgrade"]
    assert (await windows_of(world.database, "search", {}, NOON, minute(9))) == []
