"""The audit: due times computed anew, beside the rows of the ledger."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api.scene import JOB, MINUTELY, Scene, minute
from tests.api.served import SPEC, Hands, Owner

from matins.store import audits
from matins.store.database import Database

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def scene(owner: Owner, hands: Hands, database: Database) -> Scene:
    return Scene(owner, hands, database)


async def audited(scene: Scene, **query: object) -> dict[str, Any]:
    """Return the audit of the only job, ten minutes after noon, with nothing left to be claimed."""
    scene.hands.at = minute(10)
    await scene.mark(minute(10))
    since = {"since": "2026-12-01T12:00:00Z", "until": "2026-12-01T12:05:00Z"}
    [job] = (await scene.owner.get("/v1/audit", **(since | query))).json["jobs"]
    found: dict[str, Any] = job
    return found


async def test_all_is_well_when_every_due_time_has_a_row(scene: Scene) -> None:
    await scene.make()
    scene.hands.at = minute(5)
    await scene.claim(*map(minute, range(1, 5)))
    job = await audited(scene)
    assert (job["due"], job["unfinished"]) == (4, 4)
    assert (job["missing_count"], job["unexpected_count"], job["pending"]) == (0, 0, 0)


async def test_a_due_time_without_a_row_is_missing(scene: Scene) -> None:
    await scene.make()
    scene.hands.at = minute(5)
    await scene.claim(minute(1), minute(2), minute(4))
    job = await audited(scene)
    assert (job["missing_count"], job["missing"]) == (1, ["2026-12-01T12:03:00Z"])
    assert job["unfinished"] == 3


async def test_a_row_that_no_schedule_explains_is_unexpected(scene: Scene) -> None:
    await scene.make()
    scene.hands.at = minute(5)
    await scene.claim(*map(minute, range(1, 5)), minute(2, 30))
    job = await audited(scene)
    assert (job["unexpected_count"], job["unexpected"]) == (1, ["2026-12-01T12:02:30Z"])
    assert job["missing_count"] == 0


async def test_what_lies_after_the_watermark_is_pending(scene: Scene) -> None:
    await scene.make()
    scene.hands.at = minute(5)
    await scene.claim(minute(1), minute(2))
    await scene.mark(minute(2, 30))
    audit = (await scene.owner.get("/v1/audit", since="2026-12-01T12:00:00Z")).json
    [job] = audit["jobs"]
    assert (job["due"], job["unfinished"], job["pending"], job["missing_count"]) == (4, 2, 2, 0)


async def test_what_has_only_just_been_due_is_pending(scene: Scene) -> None:
    await scene.make()
    scene.hands.at = minute(1, 5)
    await scene.mark(minute(1, 5))
    [job] = (await scene.owner.get("/v1/audit")).json["jobs"]
    assert (job["due"], job["pending"], job["missing_count"]) == (1, 1, 0)


async def test_each_due_time_belongs_to_the_revision_that_it_was_due_under(scene: Scene) -> None:
    await scene.make()
    scene.hands.at = minute(2, 30)
    await scene.owner.put(JOB, SPEC | {"schedule": {"cron": "*/2 * * * *"}})
    scene.hands.at = minute(4, 30)
    await scene.owner.put(JOB, SPEC | {"schedule": MINUTELY})
    job = await audited(scene, until="2026-12-01T12:06:00Z")
    assert (job["due"], job["skipped"]) == (4, {"changed": 3})
    assert job["missing"] == ["2026-12-01T12:05:00Z"]


async def test_one_row_may_stand_for_many_due_times(scene: Scene) -> None:
    await scene.make()
    scene.hands.at = minute(30, 30)
    await scene.owner.post(f"{JOB}/pause")
    await scene.mark(minute(40))
    scene.hands.at = minute(40)
    window = {"since": "2026-12-01T12:20:00Z", "until": "2026-12-01T12:40:00Z"}
    [job] = (await scene.owner.get("/v1/audit", **window)).json["jobs"]
    assert (job["due"], job["skipped"], job["missing_count"]) == (11, {"paused": 11}, 0)


async def test_nothing_is_expected_of_a_pause_that_lasts(scene: Scene) -> None:
    await scene.make()
    scene.hands.at = minute(2, 30)
    await scene.claim(minute(1), minute(2))
    await scene.owner.post(f"{JOB}/pause")
    job = await audited(scene)
    assert (job["due"], job["unfinished"], job["missing_count"]) == (2, 2, 0)


async def test_a_deleted_job_is_audited_up_to_its_end(scene: Scene) -> None:
    await scene.make()
    scene.hands.at = minute(2, 30)
    await scene.claim(minute(1))
    await scene.owner.delete(JOB)
    job = await audited(scene)
    assert (job["due"], job["cancelled"], job["skipped"]) == (2, 1, {"deleted": 1})


async def test_what_was_triggered_is_no_due_time(scene: Scene) -> None:
    await scene.make(schedule=None)
    await scene.owner.post(f"{JOB}/trigger")
    job = await audited(scene)
    assert (job["due"], job["unexpected_count"]) == (0, 0)


async def test_one_teams_jobs_or_one_job_can_be_audited(scene: Scene) -> None:
    await scene.make()
    await scene.owner.job(name="other")
    await scene.owner.post("/v1/teams/search/jobs", SPEC)
    scene.hands.at = minute(5)

    async def names(**query: object) -> set[str]:
        audit = (await scene.owner.get("/v1/audit", **query)).json
        return {f"{job['team']}/{job['job']}" for job in audit["jobs"]}

    assert await names() == {"payments/nightly", "payments/other", "search/nightly"}
    assert await names(team="payments") == {"payments/nightly", "payments/other"}
    assert await names(team="payments", job="other") == {"payments/other"}
    assert await names(team="nobody") == set()


async def test_audits_come_in_pages(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audits, "PAGE", 2)
    await scene.make()
    for name in ("b", "c"):
        await scene.owner.job(name=name)
    scene.hands.at = minute(5)
    first = (await scene.owner.get("/v1/audit")).json
    rest = (await scene.owner.get("/v1/audit", after=first["next"])).json
    assert [len(page["jobs"]) for page in (first, rest)] == [2, 1]
    assert rest["next"] is None


async def test_a_page_ends_when_it_has_looked_at_many_due_times(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audits, "PAGE_DUE", 3)
    await scene.make()
    await scene.owner.job(name="other", schedule=MINUTELY)
    scene.hands.at = minute(5)
    first = (await scene.owner.get("/v1/audit", since="2026-12-01T12:00:00Z")).json
    assert (len(first["jobs"]), first["next"]) == (1, first["jobs"][0]["id"])


async def test_a_window_with_too_many_due_times_is_a_fault_of_the_window(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("matins.domain.audit.DUE_MAX", 100)
    await scene.make()
    scene.hands.at = minute(150)
    [job] = (await scene.owner.get("/v1/audit", since="2026-12-01T12:00:00Z")).json["jobs"]
    assert "take a shorter one" in job["fault"]
