"""Jobs that follow others, over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api.served import JOBS, Owner

pytestmark = pytest.mark.asyncio(loop_scope="module")

TARGET = {"command": {"argv": ["true"]}}


def job(name: str, *upstream: str, **fields: Any) -> dict[str, Any]:
    schedule = {"after": {"jobs": list(upstream)} | fields} if upstream else {"cron": "0 2 * * *"}
    return {"name": name, "target": TARGET, "schedule": schedule}


async def test_a_file_of_jobs_that_follow_each_other_is_put_in_any_order(owner: Owner) -> None:
    jobs = [job("report", "load"), job("load", "extract"), job("extract")]
    put = await owner.put(JOBS, {"jobs": jobs})
    assert (put.status, [result["change"] for result in put.json]) == (200, ["created"] * 3)
    circle = await owner.put(f"{JOBS}/extract", job("extract", "report"))
    assert circle.status == 422
    [told] = circle.json["errors"]
    assert told == {
        "where": "schedule.after.jobs",
        "message": "go in a circle: extract → load → report → extract",
    }


async def test_a_job_that_is_followed_is_deleted_by_force(owner: Owner) -> None:
    await owner.put(JOBS, {"jobs": [job("extract"), job("load", "extract")]})
    refused = await owner.delete(f"{JOBS}/extract")
    assert (refused.status, "load follows 'extract'" in refused.json["detail"]) == (409, True)
    assert (await owner.delete(f"{JOBS}/extract?force=true")).status == 200


async def test_a_preview_shows_the_due_times_of_the_leader(owner: Owner) -> None:
    await owner.put(JOBS, {"jobs": [job("extract"), job("load", "extract"), job("x", "load")]})
    shown = (await owner.get(f"{JOBS}/x/preview?after=2026-11-29T00:00:00Z&count=2")).json
    assert [due["utc"] for due in shown["due"]] == ["2026-11-29T02:00:00Z", "2026-11-30T02:00:00Z"]
    assert shown["sentence"] == "After load, when it succeeded."
    assert any("due times of load" in warning for warning in shown["warnings"])


async def test_what_is_not_there_is_named(owner: Owner) -> None:
    refused = await owner.put(f"{JOBS}/load", job("load", "extract"))
    assert refused.status == 422
    assert "there is no job 'extract'" in refused.json["errors"][0]["message"]
