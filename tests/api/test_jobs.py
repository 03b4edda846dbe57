"""What owners do to their jobs."""

from __future__ import annotations

import pytest
from tests.api.served import JOBS, SPEC, Owner

pytestmark = pytest.mark.asyncio(loop_scope="module")

JOB = f"{JOBS}/nightly"


async def test_a_job_is_created_with_its_next_due_time(owner: Owner) -> None:
    made = await owner.post(JOBS, SPEC)
    assert made.status == 201
    job = made.json["job"]
    assert (made.json["change"], job["revision"], job["state"]) == ("created", 1, "active")
    assert job["spec"] == SPEC
    assert job["next_due_at"] > job["created_at"]
    read = await owner.get(JOB)
    assert (read.status, read.json) == (200, job)


async def test_a_name_that_is_taken_is_refused(owner: Owner) -> None:
    await owner.post(JOBS, SPEC)
    again = await owner.post(JOBS, SPEC)
    assert again.status == 409
    assert "nightly" in again.json["detail"]


async def test_the_same_name_is_free_in_another_team(owner: Owner) -> None:
    assert (await owner.post(JOBS, SPEC)).status == 201
    assert (await owner.post("/v1/teams/search/jobs", SPEC)).status == 201


async def test_an_equal_put_changes_nothing(owner: Owner) -> None:
    made = await owner.put(JOB, SPEC)
    again = await owner.put(JOB, SPEC | {"pool": "default"})
    assert (made.json["change"], again.json["change"]) == ("created", "unchanged")
    assert again.json["job"] == made.json["job"]


async def test_a_put_replaces_a_job_under_a_new_revision(owner: Owner) -> None:
    made = await owner.job()
    changed = await owner.put(JOB, SPEC | {"priority": "high"})
    job = changed.json["job"]
    assert (changed.json["change"], job["revision"]) == ("changed", 2)
    assert job["spec"]["priority"] == "high"
    assert (job["id"], job["next_due_at"]) == (made["id"], made["next_due_at"])


async def test_a_dry_run_says_what_it_would_do_and_does_nothing(owner: Owner) -> None:
    told = await owner.put(f"{JOB}?dry_run=true", SPEC)
    assert told.json["change"] == "created"
    assert (await owner.get(JOB)).status == 404
    assert (await owner.get(JOBS)).json["jobs"] == []


async def test_a_put_under_another_name_is_refused(owner: Owner) -> None:
    refused = await owner.put(JOB, SPEC | {"name": "daily"})
    assert refused.status == 422
    assert "name" in refused.places


async def test_a_job_without_a_schedule_has_no_due_time(owner: Owner) -> None:
    job = await owner.job(schedule=None)
    assert job["next_due_at"] is None


async def test_jobs_are_listed_in_pages_by_name(owner: Owner) -> None:
    for name in ("c", "a", "b"):
        await owner.job(name=name)
    first = (await owner.get(JOBS, limit=2)).json
    rest = (await owner.get(JOBS, limit=2, after=first["next"])).json
    assert [job["spec"]["name"] for job in first["jobs"]] == ["a", "b"]
    assert [job["spec"]["name"] for job in rest["jobs"]] == ["c"]
    assert rest["next"] is None


async def test_jobs_of_all_teams_are_listed_in_pages(owner: Owner) -> None:
    for team in ("payments", "search"):
        await owner.post(f"/v1/teams/{team}/jobs", SPEC)
    first = (await owner.get("/v1/jobs", limit=1)).json
    rest = (await owner.get("/v1/jobs", limit=1, after=first["next"])).json
    assert {page["jobs"][0]["team"] for page in (first, rest)} == {"payments", "search"}


async def test_a_team_sees_its_own_jobs_only(owner: Owner) -> None:
    await owner.job()
    assert (await owner.get("/v1/teams/search/jobs")).json["jobs"] == []
    assert (await owner.get("/v1/teams/search/jobs/nightly")).status == 404


async def test_a_deleted_job_is_gone_and_its_name_is_free(owner: Owner) -> None:
    made = await owner.job()
    deleted = await owner.delete(JOB)
    assert (deleted.status, deleted.json["job"]["state"]) == (200, "deleted")
    assert (await owner.get(JOB)).status == 404
    assert (await owner.delete(JOB)).status == 404
    again = await owner.post(JOBS, SPEC)
    assert (again.status, again.json["job"]["id"] == made["id"]) == (201, False)


async def test_a_paused_job_is_due_no_more_until_it_is_resumed(owner: Owner) -> None:
    await owner.job()
    paused = (await owner.post(f"{JOB}/pause")).json
    assert (paused["change"], paused["job"]["next_due_at"]) == ("paused", None)
    resumed = (await owner.post(f"{JOB}/resume")).json
    assert resumed["change"] == "resumed"
    assert resumed["job"]["next_due_at"] > resumed["job"]["changed_at"]


async def test_pausing_and_resuming_can_be_repeated(owner: Owner) -> None:
    await owner.job()
    for path in ("pause", "resume"):
        first = (await owner.post(f"{JOB}/{path}")).json
        again = (await owner.post(f"{JOB}/{path}")).json
        assert (again["change"], again["job"]) == ("unchanged", first["job"])


async def test_a_paused_job_stays_paused_when_it_is_replaced(owner: Owner) -> None:
    await owner.job()
    await owner.post(f"{JOB}/pause")
    changed = (await owner.put(JOB, SPEC | {"schedule": {"every": "15m"}})).json
    assert (changed["job"]["state"], changed["job"]["next_due_at"]) == ("paused", None)


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"missed": "some"}, "missed"),
        ({"misssed": "all"}, "misssed"),
        ([], ""),
    ],
)
async def test_a_bad_resume_leaves_the_job_paused(owner: Owner, body: object, where: str) -> None:
    await owner.job()
    await owner.post(f"{JOBS}/nightly/pause")
    reply = await owner.post(f"{JOBS}/nightly/resume", body)
    assert (reply.status, list(reply.places)) == (422, [where])
    assert (await owner.get(f"{JOBS}/nightly")).json["state"] == "paused"


async def test_many_jobs_are_put_at_once_and_answered_in_their_order(owner: Owner) -> None:
    jobs = [SPEC | {"name": name} for name in ("one", "two", "three")]
    made = await owner.put(JOBS, {"jobs": jobs})
    again = await owner.put(JOBS, {"jobs": jobs})
    assert [result["job"]["spec"]["name"] for result in made.json] == ["one", "two", "three"]
    assert [result["change"] for result in made.json + again.json] == ["created"] * 3 + [
        "unchanged"
    ] * 3


async def test_where_one_of_many_is_wrong_none_is_put(owner: Owner) -> None:
    refused = await owner.put(JOBS, {"jobs": [SPEC, SPEC | {"name": "B", "timeout": "0s"}, SPEC]})
    assert set(refused.places) == {"jobs[1].name", "jobs[1].timeout", "jobs[2].name"}
    assert (await owner.get(JOBS)).json["jobs"] == []


async def test_what_turns_out_wrong_in_one_of_many_has_its_place(owner: Owner) -> None:
    unknown = SPEC["schedule"] | {"calendars": ["nowhere"]}
    jobs = [SPEC, SPEC | {"name": "closed", "schedule": unknown}]
    refused = await owner.put(JOBS, {"jobs": jobs})
    assert [place.startswith("jobs[1].schedule") for place in refused.places] == [True]
    assert [job["spec"]["name"] for job in (await owner.get(JOBS)).json["jobs"]] == ["nightly"]
