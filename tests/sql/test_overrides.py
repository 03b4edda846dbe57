"""One occurrence of a job can be skipped or moved, and each due time has its row all the same."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest
from tests.sql.owned import NOON, TEAM, Owned, owned, spec

from matins.domain.jobs.overrides import OVERRIDES_MAX
from matins.domain.schedules.schedule import Override, Schedule
from matins.domain.values.errors import ConflictError, InvalidInputError, NotFoundError

HOUR = timedelta(hours=1)
DAILY = spec(Schedule(cron="0 2 * * *", jitter="10m"))
TOMORROW = NOON.replace(hour=2) + timedelta(days=1)
"""When DAILY is due first: on 3 March at 02:00."""


@pytest.fixture
async def world(dsn: str) -> AsyncIterator[Owned]:
    async with owned(dsn) as world:
        await world.owners.create(TEAM, DAILY)
        yield world


async def override(world: Owned, due_at: datetime, to: datetime | None = None) -> None:
    await world.owners.override(TEAM, "job", Override(due_at, to, "release"))


async def test_a_skipped_occurrence_gets_its_row_with_the_reason(world: Owned) -> None:
    await override(world, TOMORROW)
    world.now = TOMORROW + 25 * HOUR
    await world.fire()
    assert await world.ledger() == [
        ("03-03 02:00", "skipped by an override: release"),
        ("03-04 02:00", "queued"),
    ]
    [audit] = await world.audit()
    assert audit.agrees
    assert (audit.due, audit.skipped) == (2, {"skipped by an override: release": 1})


async def test_a_moved_occurrence_runs_where_it_was_moved_to(world: Owned) -> None:
    await override(world, TOMORROW, TOMORROW + 3 * HOUR)
    world.now = TOMORROW + 25 * HOUR
    await world.fire()
    moved = "moved to 2026-03-03T05:00:00+00:00: release"
    assert await world.ledger() == [
        ("03-03 02:00", moved),
        ("03-03 05:00", "queued"),
        ("03-04 02:00", "queued"),
    ]
    [audit] = await world.audit()
    assert audit.agrees
    assert audit.due == 3


async def test_an_occurrence_can_be_moved_to_before_its_due_time(world: Owned) -> None:
    await override(world, TOMORROW, NOON + HOUR)
    job = await world.reads.job(TEAM, "job")
    assert job.next_due_at == NOON + HOUR
    world.now = TOMORROW
    await world.fire()
    assert [due for due, _ in await world.ledger()] == ["03-02 13:00", "03-03 02:00"]


async def test_an_override_can_be_undone(world: Owned) -> None:
    await override(world, TOMORROW, NOON + HOUR)
    undone = await world.owners.restore(TEAM, "job", TOMORROW)
    assert undone.job.overrides == []
    assert undone.job.next_due_at == TOMORROW
    world.now = TOMORROW + HOUR
    await world.fire()
    assert await world.ledger() == [("03-03 02:00", "queued")]


async def test_an_occurrence_can_be_decided_anew(world: Owned) -> None:
    await override(world, TOMORROW, NOON + HOUR)
    await override(world, TOMORROW)
    job = await world.reads.job(TEAM, "job")
    assert job.overrides == [Override(TOMORROW, None, "release")]
    assert job.next_due_at == TOMORROW


async def test_a_moved_occurrence_can_be_skipped_after_its_due_time_has_passed(
    world: Owned,
) -> None:
    await override(world, TOMORROW, TOMORROW + 3 * HOUR)
    world.now = TOMORROW + HOUR
    await world.fire()
    with pytest.raises(ConflictError, match="skip the occurrence"):
        await world.owners.restore(TEAM, "job", TOMORROW)
    await override(world, TOMORROW)
    world.now = TOMORROW + 23 * HOUR
    await world.fire()
    assert [due for due, _ in await world.ledger()] == ["03-03 02:00"]


async def test_what_was_moved_stays_as_it_is_once_the_new_instant_has_passed(world: Owned) -> None:
    await override(world, TOMORROW, NOON + HOUR)
    world.now = NOON + 2 * HOUR  # what was due there is not claimed yet
    with pytest.raises(ConflictError, match="was moved to 2026-03-02T13:00:00"):
        await override(world, TOMORROW)
    with pytest.raises(ConflictError, match="was moved to 2026-03-02T13:00:00"):
        await world.owners.restore(TEAM, "job", TOMORROW)
    world.now = TOMORROW
    await world.fire()
    moved = "moved to 2026-03-02T13:00:00+00:00: release"
    assert await world.ledger() == [("03-02 13:00", "queued"), ("03-03 02:00", moved)]
    [audit] = await world.audit()
    assert audit.agrees


async def test_the_last_occurrence_of_all_can_be_moved_and_then_skipped(world: Owned) -> None:
    await world.owners.put(TEAM, spec(Schedule(at=TOMORROW.isoformat())))
    await override(world, TOMORROW, TOMORROW + 3 * HOUR)
    world.now = TOMORROW + HOUR
    await world.fire()
    await override(world, TOMORROW)
    assert (await world.reads.job(TEAM, "job")).next_due_at is None
    [audit] = await world.audit()
    assert audit.agrees


async def test_claims_planned_before_an_override_make_nothing(world: Owned) -> None:
    world.now = TOMORROW - HOUR
    claim = world.claim  # of the revision before
    await override(world, TOMORROW)
    world.now = TOMORROW
    await world.fire()
    assert await claim() == 0
    assert await world.ledger() == [("03-03 02:00", "skipped by an override: release")]


async def test_what_is_over_is_forgotten_but_not_before_it_has_its_row(world: Owned) -> None:
    await override(world, TOMORROW)
    world.now = TOMORROW + HOUR
    second = TOMORROW + timedelta(days=1)
    await override(world, second)  # the first is due, but not claimed yet
    await world.fire()
    assert await world.ledger() == [("03-03 02:00", "skipped by an override: release")]
    await override(world, second + timedelta(days=1))
    job = await world.reads.job(TEAM, "job")
    assert [override.due_at for override in job.overrides] == [second, second + timedelta(days=1)]


async def test_a_new_schedule_keeps_the_overrides_that_it_has_due_times_for(world: Owned) -> None:
    await override(world, TOMORROW)
    await override(world, TOMORROW + timedelta(days=1))
    changed = await world.owners.put(TEAM, spec(Schedule(cron="0 2 3 * *")))
    assert [override.due_at for override in changed.job.overrides] == [TOMORROW]


async def test_a_paused_job_keeps_its_overrides(world: Owned) -> None:
    await world.owners.pause(TEAM, "job")
    await override(world, TOMORROW)
    resumed = await world.owners.resume(TEAM, "job")
    assert [override.due_at for override in resumed.job.overrides] == [TOMORROW]
    assert resumed.job.next_due_at == TOMORROW


async def test_a_quarantined_job_has_to_be_mended_first(world: Owned) -> None:
    await world.quarantine()
    with pytest.raises(ConflictError, match="is quarantined"):
        await override(world, TOMORROW)
    assert (await world.reads.job(TEAM, "job")).reason == "it can't be computed"


@pytest.mark.parametrize(
    ("override", "where"),
    [
        (Override(TOMORROW + HOUR), "due_at"),
        (Override(TOMORROW, NOON - HOUR), "move_to"),
        (Override(TOMORROW, TOMORROW), "move_to"),
        (Override(TOMORROW.replace(tzinfo=None)), "due_at"),
        (Override(TOMORROW, TOMORROW + timedelta(milliseconds=1)), "move_to"),
        (Override(TOMORROW, reason="w" * 201), "reason"),
    ],
)
async def test_a_wrong_override_is_refused(world: Owned, override: Override, where: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        await world.owners.override(TEAM, "job", override)
    assert [problem.where for problem in error.value.problems] == [where]
    assert (await world.reads.job(TEAM, "job")).revision == 1


async def test_what_has_passed_can_be_neither_overridden_nor_restored(world: Owned) -> None:
    with pytest.raises(NotFoundError):
        await world.owners.restore(TEAM, "job", TOMORROW)
    world.now = TOMORROW
    with pytest.raises(ConflictError, match="has passed"):
        await override(world, TOMORROW)


async def test_so_many_overrides_lie_ahead_and_no_more(world: Owned) -> None:
    for number in range(OVERRIDES_MAX):
        await override(world, TOMORROW + timedelta(days=number))
    with pytest.raises(ConflictError, match="overrides ahead"):
        await override(world, TOMORROW + timedelta(days=OVERRIDES_MAX))
