"""Runs are found by their names."""

from __future__ import annotations

from datetime import datetime

import pytest
import pytest_asyncio
from tests.api.scene import JOB, Scene, minute
from tests.api.served import Hands, Owner, Reply

from matins.store.database import Database

pytestmark = pytest.mark.asyncio(loop_scope="module")

NAME = "payments/nightly"


@pytest_asyncio.fixture(loop_scope="module")
async def scene(owner: Owner, hands: Hands, database: Database) -> Scene:
    """A job in Berlin with runs at 13:01, 13:02 and 13:03 there, of which the second is dead."""
    scene = Scene(owner, hands, database)
    await scene.make(schedule={"cron": "* * * * *", "timezone": "Europe/Berlin"}, overlap="allow")
    await scene.claim(minute(1), minute(2), minute(3))
    async with database.session() as session:
        await session.execute(
            "UPDATE runs SET state = 'dead', finished_at = due_at WHERE due_at = $1", minute(2)
        )
    return scene


async def find(scene: Scene, name: str, **more: object) -> Reply:
    return await scene.owner.get("/v1/runs/resolve", name=name, **more)


async def found(scene: Scene, name: str, **more: object) -> datetime:
    reply = await find(scene, name, **more)
    assert reply.status == 200, reply.text
    return datetime.fromisoformat(reply.json["due_at"])


async def test_a_job_names_its_last_run_or_the_last_that_failed(scene: Scene) -> None:
    assert await found(scene, NAME) == minute(3)
    assert await found(scene, NAME, failed="true") == minute(2)


@pytest.mark.parametrize(
    ("at", "number"),
    [
        ("2026-12-01T13:01", 1),
        ("2026-12-01T13:02:00", 2),
        ("2026-12-01T12:03Z", 3),
        ("2026-12-01T07:03-05:00", 3),
    ],
)
async def test_a_due_time_names_its_run_in_the_zone_of_the_job(
    scene: Scene, at: str, number: int
) -> None:
    assert await found(scene, f"{NAME}@{at}") == minute(number)


async def test_a_due_time_in_a_range_of_skipped_ones_names_their_row(
    scene: Scene, database: Database
) -> None:
    async with database.session() as session:
        await session.execute(
            "UPDATE runs SET state = 'skipped', finished_at = due_at, due_count = 60,"
            " due_until = due_at + interval '59 minutes' WHERE due_at = $1",
            minute(3),
        )
    assert await found(scene, f"{NAME}@2026-12-01T13:40") == minute(3)
    assert (await find(scene, f"{NAME}@2026-12-01T14:03")).status == 404


async def test_the_beginning_of_an_id_names_its_run_while_no_other_begins_so(scene: Scene) -> None:
    runs = (await scene.owner.get(f"{JOB}/runs")).json["runs"]
    for run in runs:
        assert await found(scene, run["id"]) == await found(scene, run["id"][:13])
    several = await find(scene, runs[0]["id"][:5])
    assert several.status == 422
    for run in runs:
        assert f"{run['id']} ({NAME}, {run['state']})" in several.text


async def test_of_many_candidates_some_are_named(scene: Scene) -> None:
    await scene.claim(*[minute(number) for number in range(4, 20)])
    runs = (await scene.owner.get(f"{JOB}/runs")).json["runs"]
    text = (await find(scene, runs[0]["id"][:6])).text
    assert [run["id"] in text for run in runs] == [True] * 5 + [False] * (len(runs) - 5)
    assert "and more" in text


async def test_runs_within_one_second_are_told_apart(scene: Scene) -> None:
    scene.hands.at = minute(4)
    ids = [(await scene.owner.post(f"{JOB}/trigger")).json["id"] for _ in range(2)]
    several = await find(scene, f"{NAME}@2026-12-01T13:04")
    assert several.status == 422
    assert all(f"{run} (due" in several.text for run in ids)


@pytest.mark.parametrize(
    ("name", "status", "text"),
    [
        (f"{NAME}@2026-12-01T12:00", 404, "was due at 2026-12-01T11:00:00Z"),
        (f"{NAME}@2026-12-02T12:00", 404, "the last one before was 0"),
        (f"{NAME}@9999-12-31T23:59Z", 404, "the last one before was 0"),
        (f"{NAME}@0001-01-01T00:00Z", 404, "no run of payments/nightly"),
        (f"{NAME}@noon", 422, "is not a date with a time of day"),
        ("payments/nobody", 404, "has no job 'nobody'"),
        ("0123", 404, "the id of no run begins with 0123"),
        ("0" + "f" * 31, 404, "there is no run"),
        ("0fff", 404, "the id of no run"),
        ("a b", 422, "can't be a name"),
    ],
)
async def test_what_means_no_run_says_so(scene: Scene, name: str, status: int, text: str) -> None:
    reply = await find(scene, name)
    assert (reply.status, text in reply.text) == (status, True), reply.text


async def test_a_single_run_has_no_last_one_that_failed(scene: Scene) -> None:
    for name in ("019ae1f6", f"{NAME}@2026-12-01T13:01"):
        reply = await find(scene, name, failed="true")
        assert [error["where"] for error in reply.json["errors"]] == ["failed"]


async def test_a_job_without_what_is_asked_for_says_so(scene: Scene) -> None:
    await scene.owner.job(name="idle", schedule={"cron": "@yearly"})
    assert "payments/idle has no run yet" in (await find(scene, "payments/idle")).text
    failed = await find(scene, "payments/idle", failed="true")
    assert "none of the runs of payments/idle failed" in failed.text
