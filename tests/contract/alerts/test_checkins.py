"""Check-ins: what is told by a token is a run of its job, and is looked at."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.contract.alerts.watched import TEAM, Watched
from tests.contract.ports.ground import START, Row

from matins.domain.alerts.checkins import Ping, hash_of
from matins.domain.jobs.alerting import AlertRule
from matins.domain.values.errors import NotFoundError, TooManyRequestsError

WITHIN = AlertRule("did_not_run", within="26h")
SECOND = timedelta(seconds=1)


async def ping(watched: Watched, token: str, what: str = "success", **said: object) -> None:
    """Tell something."""
    await watched.checkins.ping(Ping(token, what, **said), "done\n", 0)  # type: ignore[arg-type]


async def test_an_end_is_a_run_that_lasted_from_its_start(watched: Watched) -> None:
    job, token = await watched.checkin()
    await ping(watched, token, "start")
    seen = await watched.ports.rows.checkin(job)
    assert seen is not None
    assert (seen.made_at, seen.started_at, seen.state) == (START, START, "")
    watched.ground.clock.move(90)
    await ping(watched, token)
    assert await watched.ground.rows.runs(job) == [Row(90.0, "succeeded", kind="manual")]
    seen = await watched.ports.rows.checkin(job)
    assert seen is not None
    assert (seen.started_at, seen.ended_at) == (None, START + 90 * SECOND)
    assert seen.state == "succeeded"


async def test_two_ends_of_one_millisecond_are_two_runs(watched: Watched) -> None:
    job, token = await watched.checkin()
    await ping(watched, token)
    await ping(watched, token, "fail", exit_code=7)
    runs = await watched.ground.rows.runs(job)
    assert [(row.due_s, row.state) for row in runs] == [(0.0, "succeeded"), (0.001, "dead")]
    assert runs[1].reason == "exit code 7"


async def test_a_failure_is_told_and_is_no_dead_letter(watched: Watched) -> None:
    await watched.channel()
    job, token = await watched.checkin("backup", WITHIN)
    await watched.look()
    await ping(watched, token, "fail")
    assert await watched.ground.rows.letters() == []
    assert len(await watched.ground.rows.fingerprints()) == 1
    for _ in range(3):
        await watched.tell()
    await ping(watched, token)
    for _ in range(3):
        await watched.tell()
    assert watched.turns == ["bad", "well"]
    watch = await watched.ports.rows.watch(job)
    assert watch is not None
    assert watch.succeeded_at == START + 184 * SECOND


async def test_a_success_that_does_not_come_is_told(watched: Watched) -> None:
    await watched.channel()
    _, token = await watched.checkin("backup", WITHIN)
    await watched.look()
    await ping(watched, token)
    await watched.look(26 * 3600 - 1)
    assert await watched.ports.rows.notices() == []
    await watched.look(1)
    [told] = await watched.ports.rows.notices()
    assert told.notice.rule == "did_not_run 26h"


async def test_a_ping_during_a_look_is_seen_by_the_next_look(watched: Watched) -> None:
    await watched.channel()
    job, token = await watched.checkin("backup", WITHIN)
    await watched.look()
    watched.ground.clock.move(27 * 3600)
    await watched.ports.lookout.wake()
    subjects = await watched.ports.lookout.due(9)
    await ping(watched, token, "fail")
    assert await watched.watch._judge(subjects) == 0
    await watched.look()
    assert (await watched.ports.rows.standings(job))["dead"].is_notified


async def test_how_long_it_took_may_be_said(watched: Watched) -> None:
    await watched.channel()
    rules = WITHIN, AlertRule("too_slow", over="10m")
    job, token = await watched.checkin("backup", *rules)
    await watched.look()
    await ping(watched, token, took_s=600.0)
    await watched.look()
    assert (await watched.ports.rows.standings(job))["too_slow 10m"].is_bad


async def test_a_token_is_taken_twelve_times_at_once_and_then_every_five_seconds(
    watched: Watched,
) -> None:
    job, token = await watched.checkin()
    for _ in range(12):
        await ping(watched, token)
    with pytest.raises(TooManyRequestsError):
        await ping(watched, token)
    watched.ground.clock.move(5)
    await ping(watched, token)
    with pytest.raises(TooManyRequestsError):
        await ping(watched, token, "start")
    assert len(await watched.ground.rows.runs(job)) == 13
    seen = await watched.ports.rows.checkin(job)
    assert seen is not None
    assert (seen.next_at, seen.started_at) == (START + 65 * SECOND, None)


async def test_only_the_newest_token_of_a_check_in_is_known(watched: Watched) -> None:
    job, token = await watched.checkin()
    newer = (await watched.checkins.rotate(TEAM, "backup")).path.removeprefix("/ping/")
    assert not await watched.ports.checkins.knows(hash_of(token))
    with pytest.raises(NotFoundError):
        await ping(watched, token)
    await ping(watched, newer)
    await watched.ground.owners.jobs.delete(TEAM, "backup")
    for what in ("start", "success"):
        with pytest.raises(NotFoundError):
            await ping(watched, newer, what)
    assert len(await watched.ground.rows.runs(job)) == 1


async def test_no_other_job_has_a_token(watched: Watched) -> None:
    await watched.job("load")
    for name in ("load", "nothing"):
        with pytest.raises(NotFoundError):
            await watched.checkins.rotate(TEAM, name)


async def test_a_job_that_becomes_one_of_ours_takes_no_pings(watched: Watched) -> None:
    _, token = await watched.checkin()
    await watched.job("backup")
    with pytest.raises(NotFoundError):
        await ping(watched, token)
