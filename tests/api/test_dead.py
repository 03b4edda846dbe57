"""Dead letters over HTTP."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio
from tests.api.served import JOBS, SPEC, Owner
from tests.api.test_runs import Fleet

from matins.domain.runs.states import Outcome, RunState
from matins.store.database import Database

pytestmark = pytest.mark.asyncio(loop_scope="module")

DEAD = "/v1/teams/payments/dead"


async def die(owner: Owner, fleet: Fleet, job: str = "nightly") -> str:
    """Let a run of a job die of exit code 1."""
    run: dict[str, Any] = (await owner.post(f"{JOBS}/{job}/trigger")).json
    [taken] = await fleet.dequeue()
    await fleet.end(taken, Outcome.FAILED, RunState.DEAD)
    assert str(taken) == run["id"]
    return str(taken)


@pytest_asyncio.fixture(loop_scope="module")
async def dead(owner: Owner, database: Database) -> list[str]:
    """Two dead runs of one job, and one of another."""
    fleet = Fleet(database)
    await owner.job()
    await owner.job(name="hourly")
    return [await die(owner, fleet), await die(owner, fleet), await die(owner, fleet, "hourly")]


async def test_letters_are_listed_page_by_page_newest_first(owner: Owner, dead: list[str]) -> None:
    first = (await owner.get(DEAD, limit=2)).json
    assert [letter["run_id"] for letter in first["letters"]] == [dead[2], dead[1]]
    last = (await owner.get(DEAD, limit=2, before=first["next"])).json
    assert ([letter["run_id"] for letter in last["letters"]], last["next"]) == ([dead[0]], None)
    letter = last["letters"][0]
    assert (letter["team"], letter["job"]) == ("payments", "nightly")
    assert (letter["reason"], letter["error"]) == ("exit code 1", "exit code 1: what it wrote")
    assert letter["dismissed_at"] is None


async def test_letters_are_found_by_job_fingerprint_and_time(owner: Owner, dead: list[str]) -> None:
    letters = (await owner.get(DEAD)).json["letters"]
    fingerprint, died = letters[0]["fingerprint"], letters[2]["dead_at"]
    found = {
        "job": (await owner.get(DEAD, job="hourly")).json,
        "fingerprint": (await owner.get(DEAD, fingerprint=fingerprint)).json,
        "other": (await owner.get(DEAD, fingerprint="other")).json,
        "until": (await owner.get(DEAD, until=letters[1]["dead_at"])).json,
        "since": (await owner.get(DEAD, since=died)).json,
    }
    counts = {name: len(page["letters"]) for name, page in found.items()}
    assert counts == {"job": 1, "fingerprint": 3, "other": 0, "until": 1, "since": 3}
    assert (await owner.get("/v1/teams/search/dead")).json["letters"] == []


async def test_alike_letters_are_one_group(owner: Owner, dead: list[str]) -> None:
    groups = (await owner.get(f"{DEAD}/groups")).json
    assert [(group["job"], group["count"]) for group in groups] == [("nightly", 2), ("hourly", 1)]
    assert groups[0]["fingerprint"] == groups[1]["fingerprint"]
    assert groups[0]["error"] == "exit code 1: what it wrote"
    assert groups[0]["first_dead_at"] < groups[0]["last_dead_at"]
    counts = (await owner.get(f"{DEAD}/counts")).json
    assert counts == {"total": 3, "jobs": {"nightly": 2, "hourly": 1}, "complete": True}


async def test_what_is_dismissed_says_by_whom_and_why(owner: Owner, dead: list[str]) -> None:
    body = {"runs": [dead[0]], "note": "settled by hand"}
    answer = await owner.post(f"{DEAD}/dismiss", body)
    assert (answer.status, answer.json) == (200, {"dismissed": 1})
    assert len((await owner.get(DEAD)).json["letters"]) == 2
    [letter] = (await owner.get(DEAD, dismissed="true")).json["letters"]
    assert (letter["run_id"], letter["note"]) == (dead[0], "settled by hand")
    assert (letter["dismissed_by"], letter["dismissed_at"] is None) == ("admin", False)
    assert (await owner.get(f"{DEAD}/counts")).json["total"] == 2
    run = (await owner.get(f"/v1/runs/{dead[0]}")).json
    assert run["state"] == "dead"


async def test_nothing_is_dismissed_that_was_not_named(owner: Owner, dead: list[str]) -> None:
    refused = await owner.post(f"{DEAD}/dismiss", {"note": "all of it?"})
    assert (refused.status, "or everything" in refused.places[""]) == (422, True)
    wrong = await owner.post(f"{DEAD}/dismiss", {"jobs": ["nightly"]})
    assert wrong.status == 422
    assert len((await owner.get(DEAD)).json["letters"]) == len(dead)


@pytest.mark.parametrize("query", [{"job": "no name"}, {"since": "2026-11-30T02:00:00"}])
async def test_a_filter_that_is_not_sound_is_refused(owner: Owner, query: dict[str, str]) -> None:
    refused = await owner.get(DEAD, **query)
    assert (refused.status, set(refused.places)) == (422, set(query))


async def test_a_run_says_why_it_failed(owner: Owner, dead: list[str]) -> None:
    failure = (await owner.get(f"/v1/runs/{dead[0]}/failure")).json
    assert (failure["attempt"], failure["error"]) == (1, "exit code 1: what it wrote")
    assert failure["letter"]["run_id"] == dead[0]
    assert failure["letter"]["fingerprint"] == failure["fingerprint"]
    run = (await owner.post(f"{JOBS}/nightly/trigger")).json
    assert (await owner.get(f"/v1/runs/{run['id']}/failure")).status == 409
    assert (await owner.get(f"/v1/runs/{UUID(int=7)}/failure")).status == 404


async def test_many_are_replayed_at_a_rate_and_that_can_be_cancelled(
    owner: Owner, dead: list[str]
) -> None:
    started = await owner.post(f"{DEAD}/replay", {"job": "nightly", "rate": "30/m"})
    assert started.status == 201
    replay = started.json
    assert (replay["state"], replay["planned"], replay["replayed"]) == ("active", 2, 0)
    assert (replay["job"], replay["rate"], replay["made_by"]) == ("nightly", "30/m", "admin")
    assert replay["ends_at"] > replay["made_at"]
    [listed] = (await owner.get("/v1/teams/payments/replays")).json
    shown = (await owner.get(f"/v1/replays/{replay['id']}")).json
    assert listed["id"] == shown["id"] == replay["id"]
    cancelled = await owner.post(f"/v1/replays/{replay['id']}/cancel")
    assert (cancelled.status, cancelled.json["state"]) == (200, "cancelled")
    assert len((await owner.get(DEAD)).json["letters"]) == len(dead)


async def test_a_replay_that_is_not_sound_is_refused(owner: Owner, dead: list[str]) -> None:
    fast = await owner.post(f"{DEAD}/replay", {"everything": True, "rate": "fast"})
    assert (fast.status, list(fast.places)) == (422, ["rate"])
    nothing = await owner.post(f"{DEAD}/replay", {"rate": "5/s"})
    assert nothing.status == 422
    assert (await owner.post("/v1/teams/nobody/dead/replay", {"everything": True})).status == 404
    assert (await owner.get(f"/v1/replays/{UUID(int=7)}")).status == 404
    assert len((await owner.get(DEAD)).json["letters"]) == len(dead)


async def test_a_failure_tells_of_the_runs_before_it_and_of_changes_since_the_last_success(
    owner: Owner, database: Database
) -> None:
    fleet = Fleet(database)
    await owner.job()
    await die(owner, fleet)
    good = (await owner.post(f"{JOBS}/nightly/trigger")).json["id"]
    [taken] = await fleet.dequeue()
    await fleet.end(taken, Outcome.SUCCEEDED, RunState.SUCCEEDED)
    await owner.put(f"{JOBS}/nightly?reason=faster", SPEC | {"timeout": "5m"})
    bad = await die(owner, fleet)
    failure = (await owner.get(f"/v1/runs/{bad}/failure")).json
    assert (failure["failed_alike"], failure["looked_at"]) == (1, 2)
    assert failure["last_success"]["run_id"] == good
    [change] = failure["changes"]
    assert (change["revision"], change["author"], change["reason"]) == (2, "admin", "faster")
    assert "timeout" in " ".join(change["changes"])
    await owner.put(f"{JOBS}/nightly", SPEC | {"timeout": "6m"})
    again = (await owner.get(f"/v1/runs/{bad}/failure")).json
    assert again["changes"] == failure["changes"]


async def test_a_failure_of_a_deleted_job_tells_nothing_of_the_next_one_of_its_name(
    owner: Owner, database: Database
) -> None:
    fleet = Fleet(database)
    await owner.job()
    await die(owner, fleet)
    bad = await die(owner, fleet)
    await owner.delete(f"{JOBS}/nightly")
    await owner.job()
    failure = (await owner.get(f"/v1/runs/{bad}/failure")).json
    assert (failure["failed_alike"], failure["looked_at"]) == (1, 1)


async def test_who_replayed_a_run_is_kept(owner: Owner, dead: list[str]) -> None:
    again = await owner.post(f"/v1/runs/{dead[0]}/replay")
    assert again.json["reason"] == "replayed by admin"
    assert (await owner.get(f"/v1/runs/{dead[0]}/input")).json["replayed_by"] == "admin"
    made = await owner.post(f"/v1/runs/{dead[1]}/replay", {"body": "other"})
    assert made.status == 202, made.json
    given = (await owner.get(f"/v1/runs/{made.json['id']}/input")).json
    assert (given["replay_of"], given["replayed_by"]) == (dead[1], "admin")
    [closed] = (await owner.get(DEAD, dismissed=True)).json["letters"]
    assert (closed["replayed_as"], closed["dismissed_by"]) == (made.json["id"], "admin")
