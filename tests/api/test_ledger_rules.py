"""A change never fires a run, and no due time vanishes by it."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from tests.api.scene import JOB, MINUTELY, NOON, Scene, minute
from tests.api.served import SPEC, Hands, Owner

from matins.store.database import Database

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def scene(owner: Owner, hands: Hands, database: Database) -> Scene:
    return Scene(owner, hands, database)


async def test_what_an_old_schedule_owes_is_skipped_when_it_changes(scene: Scene) -> None:
    await scene.make()
    scene.hands.at = minute(3, 30)
    changed = (await scene.owner.put(JOB, SPEC | {"schedule": {"cron": "0 * * * *"}})).json
    assert changed["skipped"] == 3
    assert await scene.rows() == [(n, "skipped", "changed", None, 1) for n in (1, 2, 3)]
    assert changed["job"]["next_due_at"] == "2026-12-01T13:00:00Z"
    assert await scene.queued() == 0
    assert await scene.is_accounted_for()


async def test_many_that_are_owed_share_one_row(scene: Scene) -> None:
    await scene.make()
    scene.hands.at = minute(30, 30)
    changed = (await scene.owner.put(JOB, SPEC | {"schedule": {"every": "1h"}})).json
    assert changed["skipped"] == 30
    assert await scene.rows() == [(1, "skipped", "changed", 30, 30)]
    assert await scene.is_accounted_for()


async def test_what_was_claimed_already_is_left_alone(scene: Scene) -> None:
    await scene.make()
    scene.hands.at = minute(20)
    assert len(await scene.claim(minute(1), minute(2), minute(16))) == 3
    changed = (await scene.owner.put(JOB, SPEC | {"schedule": {"every": "1h"}})).json
    assert changed["skipped"] == 17
    assert await scene.rows() == [
        (1, "queued", "", None, 1),
        (2, "queued", "", None, 1),
        (3, "skipped", "changed", 15, 13),
        (16, "queued", "", None, 1),
        *[(n, "skipped", "changed", None, 1) for n in (17, 18, 19, 20)],
    ]
    assert await scene.is_accounted_for()


async def test_a_change_of_anything_else_leaves_the_due_times_alone(scene: Scene) -> None:
    await scene.make()
    scene.hands.at = minute(5, 30)
    changed = (await scene.owner.put(JOB, SPEC | {"schedule": MINUTELY, "priority": "high"})).json
    assert (changed["change"], changed["skipped"]) == ("changed", 0)
    assert changed["job"]["next_due_at"] == scene.job["next_due_at"] == "2026-12-01T12:01:00Z"
    assert await scene.rows() == []


async def test_a_claim_under_an_old_revision_makes_nothing(scene: Scene) -> None:
    await scene.make()
    scene.hands.at = minute(1, 30)
    await scene.owner.put(JOB, SPEC | {"schedule": {"every": "1h"}})
    assert await scene.claim(minute(1), minute(2)) == set()
    assert await scene.rows() == [(1, "skipped", "changed", None, 1)]


@pytest.mark.parametrize("change", ["pause", "delete"])
async def test_pausing_and_deleting_account_for_what_is_owed(scene: Scene, change: str) -> None:
    await scene.make()
    scene.hands.at = minute(2, 30)
    if change == "pause":
        done = await scene.owner.post(f"{JOB}/pause")
    else:
        done = await scene.owner.delete(JOB)
    why = {"pause": "paused", "delete": "deleted"}[change]
    assert (done.json["skipped"], done.json["job"]["next_due_at"]) == (2, None)
    assert await scene.rows() == [(n, "skipped", why, None, 1) for n in (1, 2)]
    assert await scene.queued() == 0
    assert await scene.is_accounted_for()


async def pause_from_1_to_5(scene: Scene) -> None:
    await scene.make()
    scene.hands.at = minute(1, 30)
    await scene.claim(minute(1))
    await scene.owner.post(f"{JOB}/pause")
    scene.hands.at = minute(5, 30)


async def test_what_a_pause_missed_is_skipped_if_nothing_else_is_said(scene: Scene) -> None:
    await pause_from_1_to_5(scene)
    resumed = (await scene.owner.post(f"{JOB}/resume")).json
    assert (resumed["skipped"], resumed["queued"]) == (4, 0)
    assert resumed["job"]["next_due_at"] == "2026-12-01T12:06:00Z"
    skipped = [(n, "skipped", "paused", None, 1) for n in (2, 3, 4, 5)]
    assert await scene.rows() == [(1, "queued", "", None, 1), *skipped]
    assert await scene.is_accounted_for()


async def test_the_last_that_a_pause_missed_can_be_run(scene: Scene) -> None:
    await pause_from_1_to_5(scene)
    resumed = (await scene.owner.post(f"{JOB}/resume", {"missed": "last"})).json
    assert (resumed["skipped"], resumed["queued"]) == (3, 1)
    states = [(n, state) for n, state, *_ in await scene.rows()]
    assert states[1:] == [(2, "skipped"), (3, "skipped"), (4, "skipped"), (5, "queued")]
    assert await scene.queued() == 2
    assert await scene.is_accounted_for()


async def test_all_that_a_pause_missed_can_be_run(scene: Scene) -> None:
    await pause_from_1_to_5(scene)
    resumed = (await scene.owner.post(f"{JOB}/resume", {"missed": "all"})).json
    assert (resumed["skipped"], resumed["queued"]) == (0, 4)
    assert {state for _, state, *_ in await scene.rows()} == {"queued"}
    assert await scene.queued() == 5
    assert await scene.is_accounted_for()


async def test_a_paused_job_that_gets_another_schedule_owes_by_the_old_one(scene: Scene) -> None:
    await pause_from_1_to_5(scene)
    hourly = SPEC | {"schedule": {"cron": "0 * * * *"}}
    assert (await scene.owner.put(JOB, hourly)).json["skipped"] == 4
    scene.hands.at = minute(150)
    resumed = (await scene.owner.post(f"{JOB}/resume")).json
    assert resumed["skipped"] == 2
    assert [row[0] for row in await scene.rows()] == [1, 2, 3, 4, 5, 60, 120]
    assert await scene.is_accounted_for()


async def test_a_very_long_pause_is_accounted_for_whole(scene: Scene) -> None:
    await scene.make()
    scene.hands.at = NOON
    await scene.owner.post(f"{JOB}/pause")
    scene.hands.at = NOON + timedelta(days=30)
    resumed = (await scene.owner.post(f"{JOB}/resume", {"missed": "last"})).json
    assert (resumed["skipped"], resumed["queued"]) == (30 * 24 * 60 - 1, 1)
    rows = await scene.rows()
    assert sum(row[4] for row in rows) == 30 * 24 * 60
    assert len(rows) < 10


async def test_a_job_made_anew_owes_nothing(scene: Scene) -> None:
    await scene.make()
    await scene.owner.delete(JOB)
    scene.hands.at = minute(10)
    assert (await scene.owner.put(JOB, SPEC | {"schedule": MINUTELY})).json["skipped"] == 0
    assert await scene.rows() == []


async def test_a_dry_run_tells_what_would_be_skipped_and_skips_nothing(scene: Scene) -> None:
    await scene.make()
    scene.hands.at = minute(3, 30)
    told = await scene.owner.put(f"{JOB}?dry_run=true", SPEC | {"schedule": {"every": "1h"}})
    assert (told.json["change"], told.json["skipped"]) == ("changed", 3)
    assert await scene.rows() == []
    assert (await scene.owner.get(JOB)).json | {"overdue": ""} == scene.job


async def test_changes_at_one_moment_come_one_after_the_other(scene: Scene) -> None:
    await scene.make()
    scene.hands.at = minute(3, 30)
    changes = [scene.owner.put(JOB, SPEC | {"schedule": {"every": f"{n}h"}}) for n in range(1, 5)]
    changes += [scene.owner.post(f"{JOB}/pause"), scene.owner.post(f"{JOB}/resume")]
    replies = await asyncio.gather(*changes)
    assert {reply.status for reply in replies} == {200}
    assert [row[0] for row in await scene.rows()] == [1, 2, 3]
    assert await scene.is_accounted_for()
