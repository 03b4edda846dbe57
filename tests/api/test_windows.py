"""Maintenance windows over HTTP."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio
from tests.api.scene import NOON, Scene, minute
from tests.api.served import JOBS, Hands, Owner

from matins.store.database import Database

pytestmark = pytest.mark.asyncio(loop_scope="module")

WINDOWS = "/v1/teams/payments/windows"
UPGRADE = f"{WINDOWS}/db-upgrade"
BODY: dict[str, Any] = {
    "name": "db-upgrade",
    "starts_at": "2026-12-01T13:01:00+01:00",
    "ends_at": "2026-12-01T12:05:00Z",
    "reason": "PostgreSQL 18",
}


@pytest_asyncio.fixture(loop_scope="module")
async def scene(owner: Owner, hands: Hands, database: Database) -> Scene:
    """A job that is due each minute from noon on."""
    made = Scene(owner, hands, database)
    await made.make()
    return made


async def test_a_window_is_put_and_shown(owner: Owner, scene: Scene) -> None:
    put = await owner.put(UPGRADE, BODY)
    assert (put.status, put.json["change"]) == (200, "created")
    assert (put.json["jobs"], put.json["held"]) == (1, 0)
    shown = await owner.get(UPGRADE)
    usual = {"starts_at": "2026-12-01T12:01:00Z", "policy": "hold", "labels": {}}
    assert shown.json["window"] == BODY | usual
    assert (shown.json["state"], shown.json["held"]) == ("coming", 0)
    assert (await owner.get(WINDOWS)).json == [shown.json]


async def test_the_same_again_changes_nothing(owner: Owner, scene: Scene) -> None:
    await owner.put(UPGRADE, BODY)
    again = await owner.put(UPGRADE, BODY | {"policy": "hold", "labels": {}})
    assert again.json["change"] == "unchanged"


async def test_a_run_that_is_held_says_why_wherever_it_is_shown(owner: Owner, scene: Scene) -> None:
    await owner.put(UPGRADE, BODY)
    scene.hands.at = minute(1)
    [run] = await scene.claim(minute(1))
    reason = "held by maintenance db-upgrade until 2026-12-01T12:05:00Z"
    status = (await owner.get(f"/v1/runs/{run}")).json
    assert (status["state"], status["reason"]) == ("waiting", reason)
    listed = (await owner.get(f"{JOBS}/nightly/runs")).json["runs"]
    assert [(run["state"], run["reason"]) for run in listed] == [("waiting", reason)]
    assert await scene.queued() == 0
    assert (await owner.get(UPGRADE)).json["held"] == 1
    assert (await owner.put(UPGRADE, BODY | {"reason": "later"})).json["held"] == 1


async def test_a_run_that_is_held_is_cancelled_at_once(owner: Owner, scene: Scene) -> None:
    await owner.put(UPGRADE, BODY)
    scene.hands.at = minute(1)
    [run] = await scene.claim(minute(1))
    cancelled = await owner.post(f"/v1/runs/{run}/cancel")
    assert (cancelled.status, cancelled.json["state"]) == (202, "cancelled")
    assert (await owner.get(UPGRADE)).json["held"] == 0


async def test_what_is_skipped_is_accounted_for(owner: Owner, scene: Scene) -> None:
    await owner.put(UPGRADE, BODY | {"policy": "skip"})
    scene.hands.at = minute(1)
    await scene.claim(minute(1))
    assert [row[1:3] for row in await scene.rows()] == [
        ("skipped", "maintenance db-upgrade: PostgreSQL 18")
    ]
    assert await scene.is_accounted_for()


async def test_a_deleted_window_is_gone_and_says_what_it_held(owner: Owner, scene: Scene) -> None:
    await owner.put(UPGRADE, BODY)
    scene.hands.at = minute(1)
    await scene.claim(minute(1))
    deleted = await owner.delete(UPGRADE)
    assert (deleted.status, deleted.json["change"], deleted.json["held"]) == (200, "deleted", 1)
    for reply in (await owner.get(UPGRADE), await owner.delete(UPGRADE)):
        assert (reply.status, "no window" in reply.json["detail"]) == (404, True)


async def test_windows_that_are_over_are_kept_for_30_days(owner: Owner, scene: Scene) -> None:
    await owner.put(UPGRADE, BODY)
    scene.hands.at = NOON + timedelta(days=30)
    assert [window["state"] for window in (await owner.get(WINDOWS)).json] == ["past"]
    scene.hands.at = NOON + timedelta(days=31)
    assert (await owner.get(WINDOWS)).json == []


async def test_a_team_sees_its_own_windows_only(owner: Owner, scene: Scene) -> None:
    await owner.put(UPGRADE, BODY)
    assert (await owner.get("/v1/teams/search/windows")).json == []
    assert (await owner.get("/v1/teams/search/windows/db-upgrade")).status == 404
    assert (await owner.put("/v1/teams/search/windows/db-upgrade", BODY)).json["jobs"] == 0


@pytest.mark.parametrize(
    ("given", "where", "message"),
    [
        ({"name": "other"}, "name", "the address says 'db-upgrade'"),
        ({"ends_at": "2026-12-01T12:00:30Z"}, "ends_at", "must lie after starts_at"),
        ({"ends_at": "2026-12-01T12:05:00"}, "ends_at", "has no offset"),
        ({"ends_at": "tomorrow"}, "ends_at", "it must be an instant such as"),
        ({"ends_at": "2027-12-01T12:05:00Z"}, "ends_at", "more than 31 days"),
        ({"policy": "pause"}, "policy", "hold, skip"),
        ({"label": {"tier": "gold"}}, "label", "did you mean labels"),
        ({"labels": {"tier": 1}}, "labels.tier", "it must be a text"),
        ({"reason": "a\0b"}, "reason", "NUL"),
    ],
)
async def test_what_is_wrong_with_a_window_is_told_where_it_is(
    owner: Owner, scene: Scene, given: dict[str, Any], where: str, message: str
) -> None:
    refused = await owner.put(UPGRADE, BODY | given)
    assert (refused.status, list(refused.places)) == (422, [where])
    assert message in refused.places[where]
    assert (await owner.get(WINDOWS)).json == []


async def test_what_would_begin_and_end_in_the_past_is_refused(owner: Owner, scene: Scene) -> None:
    scene.hands.at = minute(5)
    refused = await owner.put(UPGRADE, BODY)
    assert (refused.status, list(refused.places)) == (422, ["ends_at"])


@pytest.mark.parametrize("path", ["/v1/teams/A/windows", "/v1/teams/A/windows/db", f"{WINDOWS}/A"])
async def test_what_can_not_be_a_name_is_refused(owner: Owner, path: str) -> None:
    reply = await owner.get(path)
    assert (reply.status, len(reply.places)) == (422, 1)
