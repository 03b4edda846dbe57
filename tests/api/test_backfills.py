"""Backfills over HTTP: a plan, a start, and what is refused."""

from __future__ import annotations

from uuid import uuid4

import pytest
import pytest_asyncio
from tests.api.scene import Scene, minute
from tests.api.served import JOBS, Hands, Owner

from matins.store.database import Database

pytestmark = pytest.mark.asyncio(loop_scope="module")

BACKFILLS = f"{JOBS}/nightly/backfills"
BODY = {"since": "2026-12-01T12:00:00Z", "until": "2026-12-01T12:06:00Z"}


@pytest_asyncio.fixture(loop_scope="module")
async def scene(owner: Owner, hands: Hands, database: Database) -> Scene:
    """A job that is due each minute from noon on; two of its due times were claimed."""
    made = Scene(owner, hands, database)
    await made.make()
    hands.at = minute(3)
    await made.claim(minute(1), minute(2))
    hands.at = minute(6)
    await owner.post(f"{JOBS}/nightly/pause")
    await owner.post(f"{JOBS}/nightly/resume")
    return made


async def test_a_dry_run_tells_and_makes_nothing(owner: Owner, scene: Scene) -> None:
    told = await owner.post(f"{BACKFILLS}?dry_run=true", BODY)
    assert told.json["backfill"] is None
    plan = told.json["plan"]
    assert (plan["due"], plan["to_run"]) == (5, 3)
    assert plan["left_out"] == {"its scheduled run is under way": 2}
    assert (plan["first_due_at"], plan["last_due_at"]) == (
        *("2026-12-01T12:03:00Z", "2026-12-01T12:05:00Z"),
    )
    assert [gap["due_count"] for gap in plan["ranges"]] == [0, 2]
    assert (await owner.get(BACKFILLS)).json == []


async def test_it_is_started_shown_and_stopped(owner: Owner, scene: Scene) -> None:
    started = await owner.post(BACKFILLS, BODY | {"limit": 2, "reason": "rates"})
    assert started.status == 201
    found = started.json["backfill"]
    path = f"/v1/backfills/{found['id']}"
    assert (found["state"], found["limit"], found["counts"]["planned"]) == ("active", 2, 3)
    assert (await owner.get(path)).json["id"] == found["id"]
    assert (await owner.post(BACKFILLS, BODY)).status == 409
    assert (await owner.post(f"{path}/pause")).json["state"] == "paused"
    assert (await owner.post(f"{path}/pause")).json["state"] == "paused"
    assert (await owner.post(f"{path}/resume")).json["state"] == "active"
    assert (await owner.post(f"{path}/cancel", {"runs": True})).json["state"] == "cancelled"
    assert (await owner.post(f"{path}/resume")).status == 409
    assert [
        backfill["id"] for backfill in (await owner.get("/v1/teams/payments/backfills")).json
    ] == [found["id"]]


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"sinze": 1}, "sinze"),
        ({"limit": 0}, "limit"),
        ({"order": "random"}, "order"),
        ({"until": "2030-01-01T00:00:00Z"}, "until"),
        ({"since": "2026-12-01T12:00:00"}, "since"),
    ],
    ids=str,
)
async def test_what_makes_no_sense_is_refused(
    owner: Owner, scene: Scene, body: dict[str, object], where: str
) -> None:
    refused = await owner.post(BACKFILLS, BODY | body)
    assert refused.status == 422
    assert where in refused.text


async def test_unknown_fields_and_names_are_refused(owner: Owner, scene: Scene) -> None:
    path = f"/v1/backfills/{uuid4()}"
    assert (await owner.post(f"{path}/cancel", {"run": True})).status == 422
    assert (await owner.post(f"{path}/cancel")).status == 404
    assert (await owner.get(path)).status == 404
    assert (await owner.post(f"{JOBS}/other/backfills", BODY)).status == 404
