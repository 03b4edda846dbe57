"""What holds for a whole team, over HTTP and by files."""

from __future__ import annotations

import pytest
from tests.api.served import JOBS, SPEC, TOKEN, Owner, Served

from matins.cli.applying import apply_jobs, apply_text, read_jobs
from matins.client.sdk import Matins
from matins.domain.jobs.keeping import Keep, KeepLimits
from matins.domain.jobs.sharing import TeamShare
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.runs.output import TeamOutput

pytestmark = pytest.mark.asyncio(loop_scope="module")

KEEP = "/v1/teams/payments/keep"
FILE = """
team: payments
keep: {days: 30, others: {runs: 5}}
jobs:
  - name: tidy
    target: {command: {argv: ["true"]}}
    keep: {days: 7}
"""


async def test_a_file_says_what_its_team_and_each_job_keep(owner: Owner, served: Served) -> None:
    async with Matins(served.url, TOKEN) as client:
        await apply_text(client, FILE, "jobs.yaml")
        assert await client.get_keep("payments") == Keep(days=30, others=KeepLimits(runs=5))
        assert (await client.get_job("payments", "tidy")).spec.keep == Keep(days=7)
    assert (await owner.get(KEEP)).json == {"days": 30, "others": {"runs": 5}}


async def test_applying_tells_what_becomes_of_what_a_team_keeps(
    owner: Owner, served: Served
) -> None:
    only_keep = read_jobs("{team: payments, jobs: [], keep: {days: 30}}", "jobs.yaml")
    async with Matins(served.url, TOKEN) as client:
        for dry_run, change in ((True, "changed"), (False, "changed"), (False, "unchanged")):
            [told] = [job async for job in apply_jobs(client, only_keep, dry_run=dry_run)]
            assert (told.team, told.keep, told.change) == ("payments", Keep(days=30), change)


async def test_what_makes_no_sense_is_refused_with_its_place(owner: Owner) -> None:
    refused = await owner.put(KEEP, {"days": 0})
    assert (refused.status, list(refused.places)) == (422, ["days"])
    refused = await owner.post(JOBS, SPEC | {"keep": {"others": {"runs": 0}}})
    assert (refused.status, list(refused.places)) == (422, ["keep.others.runs"])
    assert (await owner.get(KEEP)).status == 404


async def test_the_weight_of_a_team_is_set_and_shown(owner: Owner, served: Served) -> None:
    async with Matins(served.url, TOKEN) as client:
        await client.put_job("payments", JobSpec("tidy", Target(command=CommandTarget(["true"]))))
        assert await client.get_team_share("payments") == TeamShare(1)
        assert await client.put_team_share("payments", TeamShare(3)) == TeamShare(3)
        assert await client.get_team_share("payments") == TeamShare(3)
        assert {team.name: team.weight for team in await client.list_teams()}["payments"] == 3
    refused = await owner.put("/v1/teams/payments/share", {"weight": 0})
    assert (refused.status, list(refused.places)) == (422, ["weight"])
    refused = await owner.put("/v1/teams/payments/share", {"wait": 2})
    assert refused.status in (400, 422)
    assert (await owner.get("/v1/teams/nobody/share")).status == 404


async def test_all_jobs_of_a_team_are_paused_and_resumed_at_once(owner: Owner) -> None:
    await owner.job(labels={"tier": "gold"})
    await owner.job(name="other")
    gold = {"labels": {"tier": "gold"}, "reason": "release"}
    told = await owner.post("/v1/teams/payments/pause?dry_run=true", gold)
    assert (told.status, told.json["changed"], len(told.json["jobs"])) == (200, 1, 1)
    paused = await owner.post("/v1/teams/payments/pause", gold)
    assert paused.json == told.json
    job = (await owner.get(f"{JOBS}/nightly")).json
    assert (job["state"], job["reason"]) == ("paused", "release")
    [newest, _] = (await owner.get(f"{JOBS}/nightly/revisions")).json["revisions"]
    assert (newest["author"], newest["reason"]) == ("admin", "release")
    resumed = await owner.post("/v1/teams/payments/resume")
    assert [job["change"] for job in resumed.json["jobs"]] == ["resumed", "unchanged"]
    missing = await owner.post("/v1/teams/payments/pause", {"labels": {"a": "b"}})
    assert missing.status == 404


async def test_jobs_are_labelled_alone_and_together(owner: Owner, served: Served) -> None:
    await owner.job(labels={"tier": "gold", "old": "yes"})
    await owner.job(name="other")
    body = {"add": {"owner": "ledger"}, "drop": ["old"], "labels": {"tier": "gold"}, "reason": "x"}
    told = await owner.post("/v1/teams/payments/relabel?dry_run=true", body)
    assert (told.status, told.json["changed"], len(told.json["jobs"])) == (200, 1, 1)
    assert (await owner.get(f"{JOBS}/nightly")).json["revision"] == 1
    assert (await owner.post("/v1/teams/payments/relabel", body)).json == told.json
    job = (await owner.get(f"{JOBS}/nightly")).json
    assert job["spec"]["labels"] == {"tier": "gold", "owner": "ledger"}
    [newest, _] = (await owner.get(f"{JOBS}/nightly/revisions")).json["revisions"]
    assert (newest["author"], newest["reason"], newest["changes"]) == ("admin", "x", ["labels"])
    alone = await owner.post(f"{JOBS}/other/relabel", {"add": {"tier": "tin"}})
    assert alone.json["job"]["spec"]["labels"] == {"tier": "tin"}
    async with Matins(served.url, TOKEN) as client:
        changed = await client.relabel_job("payments", "other", {"tier": "iron"}, reason="y")
        assert changed.job.spec.labels == {"tier": "iron"}
        done = await client.relabel_jobs("payments", {"tier": "iron"}, drop=["tier"])
        assert [outcome.job for outcome in done.jobs] == ["other"]


async def test_a_wrong_relabel_is_refused_with_its_place(owner: Owner) -> None:
    await owner.job()
    for body, where in (
        ({}, "add"),
        ({"add": {"tier": "gold"}, "drop": ["tier"]}, "drop"),
        ({"add": {str(number): "x" for number in range(40)}}, "labels"),
        ({"add": {"tier": 1}}, "add.tier"),
    ):
        for path in (f"{JOBS}/nightly/relabel", "/v1/teams/payments/relabel"):
            refused = await owner.post(path, body)
            assert (refused.status, list(refused.places)) == (422, [where])
    assert (await owner.get(f"{JOBS}/nightly")).json["revision"] == 1


async def test_many_jobs_are_changed_part_by_part(
    owner: Owner, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        await owner.job(name=name)
    first = (await owner.post("/v1/teams/payments/pause?limit=2")).json
    assert ([job["job"] for job in first["jobs"]], first["next"]) == (["a", "b"], "b")
    rest = (await owner.post("/v1/teams/payments/pause?limit=2&after=b")).json
    assert ([job["job"] for job in rest["jobs"]], rest["next"]) == (["c"], None)
    assert (await owner.post("/v1/teams/payments/pause?limit=0")).status == 422
    monkeypatch.setattr("matins.client.selection_calls.AT_ONCE", 1)
    so_far = []
    async with Matins(served.url, TOKEN) as client:
        done = await client.resume_jobs(
            "payments", on_part=lambda told: so_far.append(len(told.jobs))
        )
    assert (done.changed, [outcome.job for outcome in done.jobs]) == (3, ["a", "b", "c"])
    assert so_far == [1, 2, 3]


async def test_what_is_kept_of_a_teams_output_is_set_and_shown(
    owner: Owner, served: Served
) -> None:
    async with Matins(served.url, TOKEN) as client:
        assert await client.put_team_output("payments", TeamOutput("all")) == TeamOutput("all")
        much = TeamOutput("all", 1_000_000)
        assert await client.put_team_output("payments", much) == much
        assert await client.get_team_output("payments") == much
    output = "/v1/teams/payments/output"
    assert (await owner.get(output)).json == {"keep": "all", "max_bytes": 1_000_000}
    for said in ({"keep": "all", "max_bytes": 1}, {"max_bytes": 1_000_000}):
        refused = await owner.put(output, said)
        assert (refused.status, list(refused.places)) == (422, ["max_bytes"])
    assert (await owner.put(output, {})).json == {}
    assert (await owner.get("/v1/teams/nobody/output")).status == 404
