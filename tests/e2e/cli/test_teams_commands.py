"""What operators type about teams, and what is shown of runs that wait."""

from __future__ import annotations

from tests.e2e.cli.typed import Typist

from matins.client.sdk import Matins
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import CommandTarget, Target

SPEC = JobSpec("tidy", Target(command=CommandTarget(["true"])), overlap="allow", pool="gpu")


async def test_a_team_gets_a_weight_and_is_listed_with_it(typed: Typist, matins: Matins) -> None:
    await matins.put_job("payments", SPEC)
    changed = await typed("teams", "set", "payments", "--weight", "3")
    assert (changed.code, changed.out) == (0, "payments has weight 3 now\n")
    heads, row = (await typed("teams", "list")).out.splitlines()
    assert heads.split() == ["TEAM", "WEIGHT", "SINCE"]
    assert row.split()[:2] == ["payments", "3"]
    [team] = (await typed("teams", "list", "--json")).json
    assert (team["name"], team["weight"]) == ("payments", 3)
    as_json = await typed("teams", "set", "payments", "--weight", "5", "--json")
    assert as_json.json == {"weight": 5}


async def test_a_weight_beyond_the_bounds_is_refused_and_changes_nothing(
    typed: Typist, matins: Matins
) -> None:
    await matins.put_job("payments", SPEC)
    for weight in ("0", "1001"):
        refused = await typed("teams", "set", "payments", "--weight", weight)
        assert (refused.code, "weight" in refused.err) == (2, True)
    assert (await matins.get_team_share("payments")).weight == 1


async def test_a_run_that_waits_is_shown_with_what_is_before_it(
    typed: Typist, matins: Matins
) -> None:
    await matins.put_job("payments", SPEC)
    first, second = [await matins.trigger_job("payments", "tidy") for _ in range(2)]
    shown = {run.id: (await typed("runs", "show", str(run.id))).out for run in (first, second)}
    counts = [
        line.split(maxsplit=2)[2].rstrip()
        for out in shown.values()
        for line in out.splitlines()
        if line.startswith("before it")
    ]
    assert counts == ["1 run on the queue of pool gpu"]
    assert all("no executor serves pool gpu" in out for out in shown.values())
    await matins.cancel_run(second.id)
    assert "before it" not in (await typed("runs", "show", str(second.id))).out
