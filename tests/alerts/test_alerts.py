"""Alerts from the runs in the database to the message that arrives."""

from __future__ import annotations

import asyncio

import pytest
from tests.alerts.ground import COMMAND, DAILY, NOON, TEAM, Ground
from tests.alerts.receivers import Hooks, Mails, body_of, webhooks

from matins.domain.alerts.judging import Subject
from matins.kernel.metrics import ALERTS
from matins.store.outbox import READ_MOST


async def test_a_dead_run_is_told_once_and_so_is_the_success_after_it(
    ground: Ground, hooks: Hooks
) -> None:
    job = await ground.watched_job(hooks)
    ground.go(seconds=5)
    run = await ground.run(job, "dead")
    for _ in range(5):
        await ground.tell()
    [event] = hooks.events
    assert event["type"] == "alert.bad"
    data = event["data"]
    assert data["title"] == "payments/nightly: a run has failed for good"
    for words in ("exit code 1", "boom", f"matins dead replay {run}", "Rule: dead"):
        assert words in data["text"]
    assert data["notices"][0]["run_id"] == str(run)
    ground.go(hours=2)
    await ground.run(job, "succeeded")
    for _ in range(3):
        await ground.tell()
    assert hooks.turns == ["bad", "well"]
    assert hooks.events[1]["data"]["title"] == "payments/nightly is well again"


async def test_a_mail_tells_what_a_webhook_does(ground: Ground, mails: Mails) -> None:
    await ground.channel(apprise=mails.url)
    job = await ground.job()
    await ground.look()
    ground.go(seconds=5)
    run = await ground.run(job, "dead")
    await ground.tell()
    [mail] = mails.received
    assert mail["subject"] == "payments/nightly: a run has failed for good"
    assert f"matins runs show {run}" in body_of(mail)


async def test_a_team_without_a_channel_is_not_looked_at(ground: Ground) -> None:
    job = await ground.job()
    await ground.run(job, "dead")
    assert await ground.look() == 0
    assert await ground.value("SELECT count(*) FROM watches") == 0


async def test_jobs_that_were_there_before_the_channel_are_watched_from_then_on(
    ground: Ground, hooks: Hooks
) -> None:
    job = await ground.job()
    await ground.run(job, "dead")
    ground.go(minutes=1)
    await ground.channel(webhook=hooks.url)
    await ground.tell()
    assert hooks.events == []
    await ground.run(job, "dead")
    await ground.tell()
    assert hooks.turns == ["bad"]


async def test_many_jobs_that_turn_bad_within_a_minute_are_one_message(
    ground: Ground, hooks: Hooks
) -> None:
    await ground.channel(webhook=hooks.url)
    jobs = [await ground.job(f"job-{number:02}") for number in range(30)]
    await ground.look()
    for number, job in enumerate(jobs):
        ground.go(seconds=1)
        await ground.run(job, "dead", reason=f"HTTP 503 from host {number}")
        await ground.look()
        await ground.deliver()
    ground.go(minutes=1)
    await ground.deliver()
    [event] = hooks.events
    assert event["data"]["title"] == "payments: 30 jobs turned bad"
    assert event["data"]["count"] == 30
    assert "30 x dead: HTTP # from host #" in event["data"]["text"]


async def test_one_job_alone_is_told_within_seconds(ground: Ground, hooks: Hooks) -> None:
    job = await ground.watched_job(hooks)
    ground.go(seconds=5)
    await ground.run(job, "dead")
    await ground.look()
    ground.go(seconds=10)
    await ground.deliver()
    assert hooks.turns == ["bad"]


async def test_a_new_job_that_dies_before_anybody_has_looked_at_it_is_told(
    ground: Ground, hooks: Hooks
) -> None:
    await ground.channel(webhook=hooks.url)
    ground.go(days=1)
    job = await ground.job()
    ground.go(seconds=1)
    await ground.run(job, "dead", took_s=0.5)
    ground.go(seconds=4)
    await ground.tell()
    assert hooks.turns == ["bad"]


async def test_what_another_rule_says_of_the_same_job_waits_for_no_crowd(
    ground: Ground, hooks: Hooks
) -> None:
    await ground.channel(webhook=hooks.url)
    rules = [{"on": "failed", "times": 1}, {"on": "failed", "times": 2}]
    job = await ground.job(alerts=rules)
    await ground.look()
    for _ in range(2):
        ground.go(seconds=4)
        await ground.run(job, "dead")
        await ground.look()
    assert await ground.value("SELECT count(*) FROM notices") == 3
    ground.go(seconds=6)
    await ground.deliver()
    [event] = hooks.events
    assert event["data"]["count"] == 3


async def test_a_receiver_that_is_down_gets_its_message_later_and_once(ground: Ground) -> None:
    """RC-11."""
    async with webhooks() as first:
        url, port = first.url, int(first.url.rpartition(":")[2].partition("/")[0])
        await ground.channel(webhook=url)
    job = await ground.job()
    await ground.look()
    ground.go(seconds=5)
    await ground.run(job, "dead")
    for _ in range(4):
        await ground.tell()
    [channel] = (await ground.owner.get(f"{TEAM}/channels")).json
    assert channel["failing_since"]
    assert "no connection" in channel["failure"]
    [failing] = await ground.failing()
    assert (failing.kind, failing.subject) == ("channel", "payments/oncall")
    async with webhooks(port) as hooks:
        ground.go(hours=1)
        for _ in range(3):
            await ground.tell()
        assert hooks.turns == ["bad"]
    [delivery] = (await ground.owner.get(f"{TEAM}/deliveries")).json
    errors = [attempt["error"] for attempt in delivery["tries"]]
    assert len(errors) >= 3
    assert all(errors[:-1])
    assert errors[-1] == ""
    [channel] = (await ground.owner.get(f"{TEAM}/channels")).json
    assert channel["failing_since"] is None


async def test_a_receiver_that_is_slow_holds_up_no_other(ground: Ground, hooks: Hooks) -> None:
    async with webhooks() as slow:
        slow.slow_s = 5.0
        await ground.channel("slow", webhook=slow.url)
        await ground.channel("other", webhook=hooks.url)
        for name in ("slow", "other"):
            await ground.owner.post(f"{TEAM}/channels/{name}/test")
        await ground.delivery.take()
        async with asyncio.timeout(4):
            while not hooks.received:
                await asyncio.sleep(0.02)
        assert slow.received == []
        await ground.owner.post(f"{TEAM}/channels/other/test")
        await ground.delivery.take()
        async with asyncio.timeout(4):
            while len(hooks.events) < 2:
                await asyncio.sleep(0.02)
        assert slow.received == []
        await ground.delivery.settle()
        assert slow.turns == ["test"]


async def test_who_is_killed_between_sending_and_writing_sends_again_under_the_same_name(
    ground: Ground, hooks: Hooks
) -> None:
    job = await ground.watched_job(hooks)
    ground.go(seconds=5)
    await ground.run(job, "dead")
    await ground.look()
    ground.go(minutes=1)
    _, other = ground.services(ground.database)

    async def killed(*_args: object) -> bool:
        raise asyncio.CancelledError

    other._outbox.record = killed  # type: ignore[method-assign,assignment]
    await other.take()
    await asyncio.gather(*other._sending, return_exceptions=True)
    assert len(hooks.received) == 1
    await ground.deliver()
    assert len(hooks.received) == 1  # the channel is still taken
    ground.go(minutes=2)
    await ground.deliver()
    assert len(hooks.received) == 2
    assert hooks.turns == ["bad"]


async def test_two_looks_at_the_same_time_write_one_edge(ground: Ground, hooks: Hooks) -> None:
    job = await ground.watched_job(hooks)
    ground.go(seconds=5)
    await ground.run(job, "dead")
    lookout = ground.watch._lookout
    await lookout.wake()
    first, second = await lookout.due(10), await lookout.due(10)
    counter = ALERTS.labels("dead", "bad")
    before = counter._value.get()
    await ground.watch._judge(first)
    await ground.watch._judge(second)
    assert counter._value.get() - before == 1
    assert await ground.value("SELECT count(*) FROM notices") == 1
    ground.go(minutes=1)
    await ground.deliver()
    assert hooks.turns == ["bad"]


async def test_a_dead_run_that_a_success_follows_before_the_look_is_told_all_the_same(
    ground: Ground, hooks: Hooks
) -> None:
    off = [{"on": "did_not_run", "off": True}]
    job = await ground.watched_job(hooks, schedule={"every": "1s"}, alerts=off)
    ground.go(seconds=2)
    await ground.run(job, "dead")
    ground.go(seconds=2)
    await ground.run(job, "succeeded")
    for _ in range(4):
        await ground.tell()
    assert hooks.turns == ["bad", "well"]


async def test_a_job_without_a_success_for_two_periods_did_not_run(
    ground: Ground, hooks: Hooks
) -> None:
    job = await ground.watched_job(hooks)
    ground.go(minutes=1)
    await ground.run(job, "succeeded")
    await ground.tell()
    ground.go(hours=47, minutes=50)
    await ground.tell()
    assert hooks.events == []
    ground.go(minutes=10)
    await ground.tell()
    assert await ground.alert(job) == {"did_not_run": (True, True)}
    assert "no run has succeeded in time" in hooks.events[0]["data"]["text"]
    await ground.run(job, "succeeded")
    for _ in range(3):
        await ground.tell()
    assert hooks.turns == ["bad", "well"]


async def test_a_paused_job_is_not_missed_and_has_its_time_when_it_goes_on(
    ground: Ground, hooks: Hooks
) -> None:
    await ground.watched_job(hooks)
    assert (await ground.owner.post(f"{TEAM}/jobs/nightly/pause")).status == 200
    ground.go(days=10)
    await ground.tell()
    resumed = await ground.owner.post(f"{TEAM}/jobs/nightly/resume", {"missed": "skip"})
    assert resumed.status == 200
    await ground.tell()
    ground.go(hours=40)
    await ground.tell()
    assert hooks.events == []
    ground.go(hours=10)
    await ground.tell()
    assert hooks.turns == ["bad"]


async def test_a_job_in_quarantine_is_told(ground: Ground, hooks: Hooks) -> None:
    job = await ground.watched_job(hooks)
    ground.go(minutes=1)
    await ground.execute(
        "UPDATE jobs SET state = 'quarantined', reason = 'it raises', revision = revision + 1,"
        " next_due_at = NULL, next_fire_at = NULL, changed_at = $1 WHERE id = $2",
        *(ground.now, job),
    )
    await ground.execute(
        "INSERT INTO revisions (job_id, revision, partition, effective_at, state, anchor, spec)"
        " SELECT id, revision, partition, changed_at, state, anchor, spec FROM jobs WHERE id = $1",
        job,
    )
    await ground.tell()
    assert hooks.turns == ["bad"]
    assert "it raises" in hooks.events[0]["data"]["text"]


async def test_in_a_maintenance_window_nothing_is_told(ground: Ground, hooks: Hooks) -> None:
    job = await ground.watched_job(hooks)
    window = {
        "name": "mend",
        "starts_at": f"{NOON:%Y-%m-%dT%H:%M:%SZ}",
        "ends_at": "2026-12-01T14:00:00Z",
    }
    assert (await ground.owner.put(f"{TEAM}/windows/mend", window)).status == 200
    ground.go(minutes=1)
    await ground.run(job, "dead")
    for _ in range(3):
        await ground.tell()
    assert hooks.events == []
    ground.go(hours=2)
    await ground.tell()
    assert hooks.turns == ["bad"]


async def test_named_channels_are_told_and_no_others(ground: Ground, hooks: Hooks) -> None:
    async with webhooks() as others:
        await ground.channel("oncall", webhook=hooks.url)
        await ground.channel("others", webhook=others.url)
        job = await ground.job(alerts=[{"on": "dead", "to": ["oncall"]}])
        await ground.look()
        ground.go(seconds=5)
        await ground.run(job, "dead")
        await ground.tell()
        assert hooks.turns == ["bad"]
        assert others.events == []


async def test_what_is_switched_off_is_not_told(ground: Ground, hooks: Hooks) -> None:
    off = [{"on": on, "off": True} for on in ("dead", "did_not_run")]
    job = await ground.watched_job(hooks, alerts=off)
    ground.go(seconds=5)
    await ground.run(job, "dead")
    ground.go(days=30)
    await ground.tell()
    assert hooks.events == []


@pytest.mark.parametrize("times", [2, 3])
async def test_so_many_failures_in_a_row_are_told(ground: Ground, hooks: Hooks, times: int) -> None:
    rules = [{"on": "dead", "off": True}, {"on": "failed", "times": times}]
    job = await ground.watched_job(hooks, alerts=rules, schedule={"every": "1h"})
    for number in range(1, times + 1):
        assert hooks.events == []
        ground.go(minutes=5)
        await ground.run(job, "dead")
        await ground.tell()
        assert len(hooks.events) == (number == times)
    assert f"{times} times in a row" in hooks.events[0]["data"]["text"]


async def test_a_deleted_job_is_watched_no_more(ground: Ground, hooks: Hooks) -> None:
    job = await ground.watched_job(hooks)
    ground.go(seconds=5)
    await ground.run(job, "dead")
    await ground.look()
    assert (await ground.owner.delete(f"{TEAM}/jobs/nightly")).status == 200
    ground.go(minutes=1)
    await ground.look()
    assert await ground.value("SELECT count(*) FROM watches") == 0
    assert await ground.alert(job) == {}


async def test_what_dies_is_seen_though_so_many_jobs_are_bad_that_looking_has_no_end(
    ground: Ground, hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RC-12: bad jobs are looked at again and again, and what has just died comes before them."""
    await ground.channel(webhook=hooks.url)
    bad = [await ground.job(f"bad-{number}") for number in range(3)]
    new = await ground.job("new")
    await ground.look()
    ground.go(seconds=5)
    for job in bad:
        await ground.run(job, "dead")
    await ground.look()
    pages: list[list[str]] = []

    async def page(limit: int) -> list[Subject]:
        """One job at a time, each of which takes so long that others are due again."""
        ground.go(seconds=10)
        subjects = await due(limit)
        pages.append([subject.facts.spec.name for subject in subjects])
        if len(pages) == 4:
            await ground.run(new, "dead")
        if len(pages) == 8:
            await ground.watch.stop()
        return subjects

    monkeypatch.setattr("matins.alerts.watching.PAGE", 1)
    due, ground.watch._every_s = ground.watch._lookout.due, 0.0
    monkeypatch.setattr(ground.watch._lookout, "due", page)
    await ground.watch.look()
    assert ["new"] not in pages[:4]
    assert pages[4] == ["new"]


async def test_hundreds_of_jobs_that_die_while_the_receiver_is_down_are_one_message(
    ground: Ground, hooks: Hooks
) -> None:
    """RC-12."""
    count = READ_MOST + 100
    await ground.channel(webhook=hooks.url)
    hooks.status = 503
    jobs = [
        {"name": f"job-{number}", "target": COMMAND, "schedule": DAILY} for number in range(count)
    ]
    reply = await ground.owner.put(f"{TEAM}/jobs", {"jobs": jobs})
    assert reply.status == 200, reply.text
    await ground.look()
    ground.go(seconds=5)
    for row in await ground.rows("SELECT id FROM jobs"):
        await ground.run(row["id"], "dead")
    for _ in range(4):
        await ground.tell()
    hooks.status = 204
    ground.go(minutes=30)
    for _ in range(3):
        await ground.tell()
    [event] = hooks.events
    assert event["data"]["count"] == count
    assert event["data"]["title"] == f"payments: {count} alerts turned bad"
    assert await ground.value("SELECT count(*) FROM deliveries") == 1


async def test_a_message_names_the_fields_that_changed_since_the_last_success(
    ground: Ground, hooks: Hooks
) -> None:
    job = await ground.watched_job(hooks)
    ground.go(seconds=5)
    await ground.run(job, "succeeded")
    await ground.tell()
    ground.go(seconds=5)
    await ground.job(target={"command": {"argv": ["load", "-v"], "env": {"KEY": "s3cret"}}})
    ground.go(seconds=5)
    await ground.run(job, "dead")
    await ground.tell()
    [event] = hooks.events
    text = event["data"]["text"]
    assert "Changed since the last success:\n  command, env.KEY (revision 1 → 2, " in text
    assert ", by admin)" in text
    assert "s3cret" not in text
