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
