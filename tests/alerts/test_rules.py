"""Rules of a team, by labels, and what owners see of alerts."""

from __future__ import annotations

from tests.alerts.ground import TEAM, Ground
from tests.alerts.receivers import Hooks

RULES = f"{TEAM}/alert-rules/gold"


async def test_rules_of_a_team_hold_for_its_jobs_with_these_labels(
    ground: Ground, hooks: Hooks
) -> None:
    await ground.channel(webhook=hooks.url)
    gold = await ground.job("gold", labels={"tier": "gold"})
    other = await ground.job("other")
    await ground.look()
    body = {"name": "gold", "labels": {"tier": "gold"}, "rules": [{"on": "failed", "times": 2}]}
    assert (await ground.owner.put(RULES, body)).json["change"] == "created"
    assert (await ground.owner.put(RULES, body)).json["change"] == "unchanged"
    for job in (gold, other):
        for _ in range(2):
            ground.go(minutes=1)
            await ground.run(job, "dead")
    await ground.tell()
    assert await ground.alert(gold) == {"dead": (True, True), "failed 2": (True, True)}
    assert await ground.alert(other) == {"dead": (True, True)}
    assert (await ground.owner.delete(RULES)).json["change"] == "deleted"
    assert (await ground.owner.get(f"{TEAM}/alert-rules")).json == []
    ground.go(minutes=1)
    await ground.look()
    assert (await ground.alert(gold))["failed 2"] == (False, False)


async def test_what_is_bad_is_listed_until_it_is_well(ground: Ground, hooks: Hooks) -> None:
    job = await ground.watched_job(hooks)
    ground.go(seconds=5)
    run = await ground.run(job, "dead")
    await ground.tell()
    page = (await ground.owner.get("/v1/alerts", team="payments")).json
    assert page["total"] == 1
    [alert] = page["alerts"]
    assert (alert["job"], alert["rule"], alert["run_id"]) == ("nightly", "dead", str(run))
    shown = (await ground.owner.get(f"{TEAM}/jobs/nightly/alerts")).json
    assert [rule["on"] for rule in shown["rules"]] == [
        *("dead", "quarantined", "did_not_run", "recovered"),
    ]
    [sent] = shown["notices"]
    assert (sent["channel"], sent["state"], sent["notice"]["turn"]) == (
        "oncall",
        "delivered",
        "bad",
    )
    await ground.run(job, "succeeded")
    for _ in range(2):
        await ground.tell()
    assert (await ground.owner.get("/v1/alerts")).json == {"alerts": [], "total": 0}


async def test_rules_that_say_nothing_are_refused(ground: Ground) -> None:
    body = {"name": "gold", "rules": [{"on": "failed"}]}
    reply = await ground.owner.put(RULES, body)
    assert reply.status == 422
    assert reply.places == {"rules[0].times": "is missing; failed needs it"}
