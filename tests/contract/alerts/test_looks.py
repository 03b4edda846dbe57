"""What is looked at, what is written of it, and what is told."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import msgspec
import pytest
from tests.contract.alerts.watched import BAD, GOOD, QUIET, TEAM, Watched
from tests.contract.ports.ground import START

from matins.alerts import watching
from matins.domain.alerts.judging import PUT_OFF, Judged, Subject, judge
from matins.domain.alerts.levels import RECENT
from matins.domain.jobs.alerting import AlertRule, AlertRules
from matins.domain.jobs.windows import Window
from matins.domain.runs.dead import DismissDead

SECOND = timedelta(seconds=1)
OTHER = UUID(int=8)
RULES = AlertRules("gold", [AlertRule("failed", times=2)], {"tier": "gold"})


async def test_nothing_is_watched_without_a_channel(watched: Watched) -> None:
    job = await watched.job()
    await watched.end()
    assert await watched.look() == 0
    assert await watched.ports.rows.watch(job) is None


async def test_with_its_first_channel_all_jobs_of_a_team_are_watched(watched: Watched) -> None:
    job = await watched.job()
    await watched.end()
    watched.ground.clock.move(60)
    await watched.channel()
    watch = await watched.ports.rows.watch(job)
    assert watch is not None
    assert (watch.look_at, watch.looked_at, watch.revision) == (START + 60 * SECOND, None, 0)
    await watched.tell()
    assert watched.turns == []  # what was dead before is not told
    watch = await watched.ports.rows.watch(job)
    assert watch is not None
    assert (watch.looked_at, watch.revision) == (START + 61 * SECOND, 1)
    assert watch.was_active


async def test_without_its_last_channel_a_team_is_watched_no_more(watched: Watched) -> None:
    await watched.channel("first")
    await watched.channel("other")
    job = await watched.job()
    await watched.look()
    await watched.end()
    await watched.look()
    await watched.channels.delete(TEAM, "first")
    assert set(await watched.ports.rows.standings(job)) == {"dead"}
    await watched.channels.delete(TEAM, "other")
    assert await watched.ports.rows.watch(job) is None
    assert await watched.ports.rows.standings(job) == {}
    assert await watched.ports.rows.deliveries() == []


async def test_a_dead_run_is_told_once_and_so_is_the_success_after_it(watched: Watched) -> None:
    await watched.channel()
    job = await watched.job()
    await watched.look()
    run = await watched.end()
    for _ in range(4):
        await watched.tell()
    await watched.end(result=GOOD)
    for _ in range(4):
        await watched.tell()
    assert watched.turns == ["bad", "well"]
    [bad, well] = await watched.ports.rows.notices()
    assert (bad.notice.rule, bad.notice.run_id, bad.notice.reason) == ("dead", run, BAD.reason)
    assert (bad.channel, bad.state, well.notice.turn) == ("oncall", "delivered", "well")
    standing = (await watched.ports.rows.standings(job))["dead"]
    assert (standing.is_bad, standing.edges, standing.mark) == (False, 2, START + SECOND)


async def test_what_is_told_names_the_dead_letter_while_it_is_open(watched: Watched) -> None:
    await watched.channel()
    await watched.job()
    await watched.look()
    await watched.end()
    await watched.tell()
    [delivery] = await watched.ports.rows.deliveries()
    content = await watched.ports.outbox.content(delivery.id)
    assert [notice.job for notice in content.notices] == ["load"]
    assert (content.total, [detail.is_dead_letter for detail in content.details]) == (1, [True])
    await watched.ground.owners.dead.dismiss(TEAM, DismissDead(job="load"))
    [detail] = (await watched.ports.outbox.content(delivery.id)).details
    assert not detail.is_dead_letter


async def test_a_death_is_seen_within_the_look_after_it(watched: Watched) -> None:
    """Also of a job that was well a moment ago, and is not to be looked at before tomorrow."""
    await watched.channel()
    job = await watched.job()
    await watched.look()
    watch = await watched.ports.rows.watch(job)
    assert watch is not None
    assert watch.look_at - START > timedelta(hours=12)
    await watched.end()
    await watched.look()
    assert (await watched.ports.rows.standings(job))["dead"].is_notified


async def test_what_stays_bad_is_looked_at_once_it_has_changed(watched: Watched) -> None:
    """A success is seen within a minute, however long the job has been bad."""
    job = await watched.bad_job()
    await watched.look(3600)
    await watched.look(3600)
    assert [await watched.look(5) for _ in range(12)] == [0] * 12
    await watched.end(result=GOOD)
    assert [await watched.look(5) for _ in range(12)].count(1) >= 1
    standing = (await watched.ports.rows.standings(job))["dead"]
    assert (standing.is_bad, standing.edges) == (False, 2)


async def test_what_is_bad_and_changes_while_the_clock_is_behind_is_seen(watched: Watched) -> None:
    job = await watched.bad_job()
    await watched.look(3600)
    watched.ground.clock.move(-1800)
    await watched.look()
    await watched.end(result=GOOD)
    for _ in range(40):
        await watched.look(60)
    assert not (await watched.ports.rows.standings(job))["dead"].is_bad


async def test_a_death_is_seen_though_the_clock_was_put_back(watched: Watched) -> None:
    await watched.channel()
    job = await watched.job()
    await watched.look()
    await watched.end()
    await watched.tell()
    await watched.end(result=GOOD)
    await watched.look(1000)  # it is well, and was looked at then
    watched.ground.clock.move(-300)
    await watched.end()
    for _ in range(30):
        await watched.look(11)
    [first, well, again] = await watched.ports.rows.notices()
    turns = [row.notice.turn for row in (first, well, again)]
    assert turns == ["bad", "well", "bad"]
    assert (await watched.ports.rows.standings(job))["dead"].edges == 3


async def test_a_new_revision_is_looked_at_at_once(watched: Watched) -> None:
    await watched.channel()
    job = await watched.job()
    await watched.look()
    await watched.job("load", QUIET, AlertRule("late", after="1m"))
    assert await watched.look() == 1
    watch = await watched.ports.rows.watch(job)
    assert watch is not None
    assert watch.revision == 2


async def test_rules_of_a_team_let_its_jobs_be_judged_anew(watched: Watched) -> None:
    await watched.channel()
    gold = await watched.job("gold", labels={"tier": "gold"})
    plain = await watched.job("plain")
    await watched.look()
    assert (await watched.rules.put(TEAM, RULES)).change == "created"
    assert (await watched.rules.put(TEAM, RULES)).change == "unchanged"
    assert await watched.look() == 2
    for name in ("gold", "plain"):
        for _ in range(2):
            await watched.end(name)
            watched.ground.clock.move(1)
    await watched.look()
    assert set(await watched.ports.rows.standings(gold)) == {"dead", "failed 2"}
    assert set(await watched.ports.rows.standings(plain)) == {"dead"}
    assert (await watched.rules.delete(TEAM, "gold")).change == "deleted"
    assert await watched.ports.rules.delete_rules(TEAM, "gold") is None
    await watched.look()
    standing = (await watched.ports.rows.standings(gold))["failed 2"]
    assert (standing.is_bad, standing.edges) == (False, 1)


async def test_a_deleted_job_is_forgotten_when_it_is_looked_at(watched: Watched) -> None:
    job = await watched.bad_job()
    await watched.ground.owners.jobs.delete(TEAM, "load")
    await watched.look(60)
    assert await watched.ports.rows.watch(job) is None
    assert await watched.ports.rows.standings(job) == {}


async def test_in_a_maintenance_window_nothing_is_told_before_its_end(watched: Watched) -> None:
    await watched.channel()
    job = await watched.job()
    await watched.look()
    ends_at = START + timedelta(hours=1)
    await watched.ground.owners.windows.put(TEAM, Window("mend", START, ends_at))
    await watched.job("load", QUIET, AlertRule("late", after="1m"))
    await watched.end(result=GOOD)
    await watched.look()
    watch = await watched.ports.rows.watch(job)
    assert watch is not None
    assert (watch.look_at, watch.expect_from) == (ends_at, ends_at)


async def test_the_second_of_two_looks_at_the_same_job_writes_nothing(watched: Watched) -> None:
    await watched.channel()
    job = await watched.job()
    await watched.look()
    await watched.end()
    watched.ground.clock.move(1)
    lookout = watched.ports.lookout
    await lookout.wake()
    first, second = await lookout.due(10), await lookout.due(10)
    assert await watched.watch._judge(first) == 1
    assert await watched.watch._judge(second) == 0
    assert len(await watched.ports.rows.notices()) == 1
    assert (await watched.ports.rows.standings(job))["dead"].edges == 1


async def test_no_more_jobs_are_looked_at_than_are_asked_for(watched: Watched) -> None:
    await watched.channel()
    for name in ("first", "second", "third"):
        await watched.job(name)
        watched.ground.clock.move(1)
        await watched.ports.lookout.wake()
    subjects = await watched.ports.lookout.due(2)
    assert [subject.facts.spec.name for subject in subjects] == ["first", "second"]


async def test_a_job_that_can_not_be_judged_keeps_nobody_from_being_told(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    await watched.channel()
    jobs = {name: await watched.job(name) for name in ("bad", "load")}
    await watched.look()

    def raises(subject: Subject) -> Judged:
        if subject.facts.spec.name == "bad":
            raise RuntimeError("its schedule raises")
        return judge(subject)

    monkeypatch.setattr(watching, "judge", raises)
    for name in jobs:
        await watched.end(name)
    await watched.look()
    [told] = await watched.ports.rows.notices()
    assert told.notice.job_id == jobs["load"]
    watch = await watched.ports.rows.watch(jobs["bad"])
    assert watch is not None
    assert watch.looked_at is not None
    assert watch.look_at == watch.looked_at + PUT_OFF


async def test_where_no_channel_that_is_named_exists_all_are_told(watched: Watched) -> None:
    for name in ("first", "other"):
        await watched.channel(name)
    rules = [QUIET, AlertRule("dead", to=["gone"]), AlertRule("recovered", to=["other"])]
    await watched.job("load", *rules)
    await watched.look()
    await watched.end()
    await watched.tell()
    await watched.end(result=GOOD)
    await watched.tell()
    await watched.tell()
    told = [(row.channel, row.notice.turn) for row in await watched.ports.rows.notices()]
    assert told == [("first", "bad"), ("other", "bad"), ("other", "well")]


async def test_a_channel_that_was_replaced_during_a_look_leaves_nobody_untold(
    watched: Watched,
) -> None:
    await watched.channel("old")
    await watched.job()
    await watched.look()
    await watched.end()
    watched.ground.clock.move(1)
    await watched.ports.lookout.wake()
    subjects = await watched.ports.lookout.due(10)
    await watched.channel("new")
    await watched.channels.delete(TEAM, "old")
    await watched.watch._judge(subjects)
    [told] = await watched.ports.rows.notices()
    assert told.channel == "new"


async def test_runs_of_a_rule_that_looks_far_back_are_seen(watched: Watched) -> None:
    await watched.channel()
    rule = AlertRule("failed", times=2, of=30)
    job = await watched.job("load", QUIET, AlertRule("dead", off=True), rule)
    await watched.look()
    for index in range(30):
        await watched.end(result=GOOD if index else BAD)
        watched.ground.clock.move(1)
    await watched.look(61)
    assert await watched.ports.rows.standings(job) == {}
    await watched.end()
    await watched.job(
        "load", QUIET, AlertRule("dead", off=True), msgspec.structs.replace(rule, of=31)
    )
    await watched.look()
    assert (await watched.ports.rows.standings(job))["failed 2 of 31"].is_bad


async def test_a_death_is_told_however_many_runs_were_due_after_it(watched: Watched) -> None:
    """A run may be tried for long, while others come and go."""
    await watched.channel()
    job = await watched.job()
    await watched.look()
    slow = await watched.begin(executor=OTHER)
    for _ in range(RECENT + 5):
        await watched.end(result=GOOD)
        watched.ground.clock.move(1)
    await watched.finish(slow, BAD, OTHER)
    await watched.look()
    standing = (await watched.ports.rows.standings(job))["dead"]
    assert (standing.is_notified, standing.run_id) == (True, slow.run_id)
    await watched.look(61)
    assert (await watched.ports.rows.standings(job))["dead"].edges == 1


async def test_nobody_is_reminded_of_a_job_that_is_paused(watched: Watched) -> None:
    await watched.channel()
    job = await watched.job("load", QUIET, AlertRule("dead", remind="1m"))
    await watched.look()
    await watched.end()
    await watched.look()
    await watched.look(61)
    await watched.ground.owners.jobs.pause(TEAM, "load")
    for _ in range(3):
        await watched.look(61)
    turns = [row.notice.turn for row in await watched.ports.rows.notices()]
    assert turns == ["bad", "still"]
    watch = await watched.ports.rows.watch(job)
    assert watch is not None
    assert watch.looked_at is not None
    assert (watch.look_at - watch.looked_at).total_seconds() > 5
    await watched.ground.owners.jobs.resume(TEAM, "load")
    await watched.look()
    assert len(await watched.ports.rows.notices()) == 3
