"""Limits and quotas over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api.served import Owner

pytestmark = pytest.mark.asyncio(loop_scope="module")

TEAM = "/v1/teams/limited"
KEY = f"{TEAM}/limits/vendor-x"
TARGET = {"http": {"url": "http://127.0.0.1:9/"}}
JOB: dict[str, Any] = {
    "name": "settle",
    "target": TARGET,
    "max_running": 2,
    "concurrency": {"key": "vendor-x", "limit": 5, "rate": "100/m"},
}


async def test_a_key_has_the_lowest_limit_of_its_jobs_until_the_team_sets_one(
    owner: Owner,
) -> None:
    assert (await owner.put(f"{TEAM}/jobs/settle", JOB)).status in (200, 201)
    lower = {"name": "refund", "target": TARGET, "concurrency": {"key": "vendor-x", "limit": 4}}
    await owner.put(f"{TEAM}/jobs/refund", lower)
    shown = (await owner.get(KEY)).json
    assert (shown["limit"], shown["rate"], shown["set"]) == (4, "100/m", False)
    assert (shown["used"], shown["waiting"]) == (0, 0)
    listed = (await owner.get(f"{TEAM}/limits")).json
    assert [(limit["kind"], limit["name"], limit["limit"]) for limit in listed] == [
        ("key", "vendor-x", 4),
        ("job", "settle", 2),
    ]
    put = await owner.put(KEY, {"key": "vendor-x", "limit": 9})
    assert (put.status, put.json["change"]) == (200, "created")
    shown = (await owner.get(KEY)).json
    assert (shown["limit"], shown["rate"], shown["set"]) == (9, "100/m", True)
    assert (await owner.put(KEY, {"key": "vendor-x", "limit": 9})).json["change"] == "unchanged"
    assert (await owner.delete(KEY)).json["change"] == "deleted"
    assert (await owner.get(KEY)).json["limit"] == 4
    assert (await owner.delete(KEY)).status == 404


async def test_a_limit_that_says_nothing_is_refused(owner: Owner) -> None:
    answer = await owner.put(KEY, {"key": "vendor-x"})
    assert answer.status == 422
    assert answer.json["errors"][0]["where"] == "limit"
    assert (await owner.put(KEY, {"key": "other", "limit": 1})).status == 422


async def test_quotas_are_shown_beside_their_use(owner: Owner) -> None:
    quotas = f"{TEAM}/quotas"
    for name in ("settle", "refund"):
        await owner.put(f"{TEAM}/jobs/{name}", JOB | {"name": name})
    put = await owner.put(quotas, {"max_jobs": 2, "max_running": 50, "starts_per_minute": 600})
    assert (put.status, put.json["change"]) == (200, "changed")
    shown = (await owner.get(quotas)).json
    assert shown["max_jobs"] == {"limit": 2, "used": 2, "is_default": False}
    assert shown["max_running"] == {"limit": 50, "used": 0, "is_default": False}
    assert shown["starts_per_minute"] == {"limit": 600, "used": 0, "is_default": False}
    assert shown["waiting"] == 0
    third = await owner.put(f"{TEAM}/jobs/third", {"name": "third", "target": TARGET})
    assert third.status == 422
    assert "quota max_jobs of team limited is 2" in third.json["errors"][0]["message"]
    assert (await owner.put(f"{TEAM}/jobs/settle", JOB)).json["change"] == "unchanged"
    assert (await owner.put(quotas, {})).json["change"] == "changed"
    assert (await owner.get(quotas)).json["max_jobs"]["limit"] is None
    assert (await owner.put(f"{TEAM}/jobs/third", {"name": "third", "target": TARGET})).status in (
        200,
        201,
    )
