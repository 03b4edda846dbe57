"""Check-ins: what something else runs is told by pings, and watched by the same rules."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.alerts.ground import COMMAND, TEAM, Ground
from tests.alerts.receivers import Hooks
from tests.api.served import Reply, calling

CHECKINS = f"{TEAM}/checkins"
WATCHED = {"on": "did_not_run", "within": "26h"}


class Cron:
    """What runs the job, and has nothing but its token."""

    def __init__(self, ground: Ground, path: str) -> None:
        self._owner = ground.owner
        self.path = path

    async def ping(self, tail: str = "", method: str = "POST", body: str = "") -> Reply:
        url = str(self._owner._session._base_url).rstrip("/")
        async with calling(url, None) as stranger:
            return await stranger.call(method, self.path + tail, data=body)


@pytest.fixture
async def cron(ground: Ground, hooks: Hooks) -> Cron:
    """Of a check-in that is watched from noon on, and ought to succeed within 26 hours."""
    await ground.channel(webhook=hooks.url)
    return await checkin(ground, WATCHED)


async def checkin(ground: Ground, *alerts: dict[str, Any], name: str = "backup") -> Cron:
    await ground.job(name, target={"checkin": {}}, schedule=None, alerts=list(alerts))
    reply = await ground.owner.post(f"{CHECKINS}/{name}/rotate")
    assert reply.status == 200, reply.text
    await ground.look()
    return Cron(ground, reply.json["path"])


async def runs(ground: Ground, name: str = "backup") -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = (await ground.owner.get(f"{TEAM}/jobs/{name}/runs")).json["runs"]
    return listed


async def job_id(ground: Ground) -> Any:
    return await ground.value("SELECT id FROM jobs WHERE name = 'backup' AND state <> 'deleted'")


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
async def test_an_end_is_a_run_that_lasted_from_its_start(
    ground: Ground, cron: Cron, method: str
) -> None:
    assert (await cron.ping("/start", method)).status == 200
    [record] = (await ground.owner.get(CHECKINS)).json
    assert record["started_at"] == "2026-12-01T12:00:00Z"
    assert await runs(ground) == []
    ground.go(minutes=7)
    assert (await cron.ping("", method)).status == 200
    [run] = await runs(ground)
    assert (run["state"], run["kind"]) == ("succeeded", "manual")
    assert (run["started_at"], run["finished_at"]) == (
        "2026-12-01T12:00:00Z",
        "2026-12-01T12:07:00Z",
    )
    shown = (await ground.owner.get(f"{CHECKINS}/backup")).json
    assert (shown["started_at"], shown["ended_at"], shown["state"]) == (
        None,
        "2026-12-01T12:07:00Z",
        "succeeded",
    )


@pytest.mark.parametrize(
    ("tail", "state", "reason", "code"),
    [
        ("", "succeeded", "", None),
        ("/0", "succeeded", "", 0),
        ("/3", "dead", "exit code 3", 3),
        ("/fail", "dead", "it failed", None),
    ],
)
async def test_an_end_says_what_came_of_it(
    ground: Ground, cron: Cron, tail: str, state: str, reason: str, code: int | None
) -> None:
    reply = await cron.ping(f"{tail}?duration=90", body="copying\n\x1b[31mdisk full\x1b[0m\x00\n")
    assert (reply.status, reply.text) == (200, "ok\n")
    [run] = await runs(ground)
    assert (run["state"], run.get("reason", ""), run["attempt"]) == (state, reason, 1)
    assert run["started_at"] == "2026-12-01T11:58:30Z"
    [attempt] = (await ground.owner.get(f"/v1/runs/{run['id']}/attempts")).json
    assert (attempt["output"], attempt["exit_code"]) == ("copying\ndisk full\n", code)


async def test_of_a_long_output_the_ends_are_kept(ground: Ground, cron: Cron) -> None:
    await cron.ping(body="first\n" + "x" * 500_000 + "\nlast\n")
    [run] = await runs(ground)
    [attempt] = (await ground.owner.get(f"/v1/runs/{run['id']}/attempts")).json
    assert attempt["output"].startswith("first\n")
    assert attempt["output"].endswith("\nlast\n")
    assert len(attempt["output"]) < 11_000
    assert attempt["output_cut"] == 500_012 - 10 * 1024


async def test_its_owner_is_told_when_no_success_comes_and_when_one_does(
    ground: Ground, hooks: Hooks, cron: Cron
) -> None:
    await cron.ping()
    ground.go(hours=25)
    await ground.tell()
    assert hooks.events == []
    ground.go(hours=1)
    await ground.tell()
    await ground.tell()
    assert hooks.turns == ["bad"]
    assert hooks.events[0]["data"]["notices"][0]["rule"] == "did_not_run 26h"
    await cron.ping()
    await ground.tell()
    assert hooks.turns == ["bad", "well"]


async def test_a_failure_is_told_at_once_with_its_output_and_is_no_dead_letter(
    ground: Ground, hooks: Hooks, cron: Cron
) -> None:
    ground.go(seconds=1)
    await cron.ping("/7", body="no space left on device\n")
    await ground.tell()
    assert hooks.turns == ["bad"]
    text = hooks.events[0]["data"]["text"]
    assert "payments/backup: a run has failed for good: exit code 7" in text
    assert "no space left on device" in text
    assert await ground.value("SELECT count(*) FROM dead_letters") == 0
    ground.go(minutes=1)
    await cron.ping()
    await ground.tell()
    assert hooks.turns == ["bad", "well"]


async def test_too_slow_and_too_fast_go_by_what_it_says(ground: Ground, hooks: Hooks) -> None:
    await ground.channel(webhook=hooks.url)
    cron = await checkin(
        ground, {"on": "too_slow", "over": "10m"}, {"on": "too_fast", "under": "5s"}
    )
    job = await job_id(ground)
    for tail, slow, fast in (
        ("?duration=60", False, False),
        ("?duration=600", True, False),
        ("?duration=4.9", False, True),
    ):
        ground.go(minutes=1)
        await cron.ping(tail)
        await ground.look()
        levels = await ground.alert(job)
        are_bad = [levels.get(rule, (False,))[0] for rule in ("too_slow 10m", "too_fast 5s")]
        assert are_bad == [slow, fast], tail
    ground.go(minutes=1)
    await cron.ping()  # nothing is said of how long it took
    await ground.look()
    assert not (await ground.alert(job))["too_slow 10m"][0]


async def test_a_ping_during_a_look_is_seen_by_the_next_look(ground: Ground, cron: Cron) -> None:
    """Who looked before it has not seen its run, and must not put the next look off."""
    ground.go(hours=27)
    lookout = ground.watch._lookout
    read = lookout.due

    async def due(limit: int) -> Any:
        subjects = await read(limit)
        await cron.ping("/1")
        lookout.due = read  # type: ignore[method-assign]
        return subjects

    lookout.due = due  # type: ignore[method-assign]
    await ground.look()
    ground.go(seconds=1)
    await ground.look()
    assert (await ground.alert(await job_id(ground)))["dead"] == (True, True)


async def test_a_token_that_is_not_known_is_told_nothing(ground: Ground, cron: Cron) -> None:
    wrong = Cron(ground, "/ping/" + "A" * 32)
    for stranger, tail in ((wrong, ""), (wrong, "/start"), (cron, "x"), (cron, "/stop")):
        reply = await stranger.ping(tail)
        assert (reply.status, reply.json["detail"]) == (404, "there is no such check-in")
    assert (await cron.ping(method="DELETE")).status == 405
    assert await runs(ground) == []


async def test_a_new_token_replaces_the_one_before(ground: Ground, cron: Cron) -> None:
    path = (await ground.owner.post(f"{CHECKINS}/backup/rotate")).json["path"]
    assert path != cron.path
    assert (await cron.ping()).status == 404
    assert (await Cron(ground, path).ping()).status == 200


async def test_the_token_is_nowhere_in_what_is_stored_or_shown(
    ground: Ground, cron: Cron, capfd: pytest.CaptureFixture[str]
) -> None:
    await cron.ping("/start")
    await cron.ping("/999")
    await cron.ping("/fail")
    token = cron.path.removeprefix("/ping/")
    row = await ground.value("SELECT checkins::text FROM checkins")
    shown = (await ground.owner.get(CHECKINS)).text
    output = capfd.readouterr()
    for text in (row, shown, output.out, output.err):
        assert token not in text
        assert token.encode().hex() not in text


async def test_a_token_is_taken_twelve_times_at_once_and_then_every_five_seconds(
    ground: Ground, cron: Cron
) -> None:
    replies = await asyncio.gather(*(cron.ping() for _ in range(15)))
    assert sorted(reply.status for reply in replies) == [200] * 12 + [429] * 3
    [refused] = [reply for reply in replies if reply.status == 429][:1]
    assert refused.headers["retry-after"]
    assert len(await runs(ground)) == 12  # also those of one millisecond
    ground.go(seconds=5)
    assert [(await cron.ping()).status for _ in range(2)] == [200, 429]


@pytest.mark.parametrize(
    ("tail", "where"),
    [("?duration=soon", "duration"), ("?duration=-1", "duration"), ("/256", "path")],
)
async def test_what_can_not_be_read_is_refused_and_changes_nothing(
    ground: Ground, cron: Cron, tail: str, where: str
) -> None:
    reply = await cron.ping(tail)
    assert reply.status == 422
    assert list(reply.places) == [where]
    assert await runs(ground) == []


async def test_a_deleted_check_in_takes_no_pings(ground: Ground, cron: Cron) -> None:
    await ground.owner.delete(f"{TEAM}/jobs/backup")
    assert (await cron.ping()).status == 404
    assert (await ground.owner.get(CHECKINS)).json == []
    assert (await ground.owner.post(f"{CHECKINS}/backup/rotate")).status == 404


async def test_a_job_that_becomes_one_of_ours_takes_no_pings(ground: Ground, cron: Cron) -> None:
    await ground.job("backup", target=COMMAND)
    assert (await cron.ping()).status == 404
    assert (await ground.owner.get(f"{CHECKINS}/backup")).status == 404


async def test_matins_runs_no_check_in(ground: Ground, cron: Cron) -> None:
    spec = {"name": "a", "target": {"checkin": {}}, "schedule": {"every": "1h"}}
    reply = await ground.owner.put(f"{TEAM}/jobs/a", spec)
    assert "did_not_run" in reply.places["schedule"]
    reply = await ground.owner.post(f"{TEAM}/jobs/backup/trigger")
    assert (reply.status, "check-in" in reply.json["detail"]) == (409, True)
    await cron.ping("/fail")
    [run] = await runs(ground)
    reply = await ground.owner.post(f"/v1/runs/{run['id']}/replay")
    assert (reply.status, "check-in" in reply.json["detail"]) == (409, True)
    assert [run["state"] for run in await runs(ground)] == ["dead"]


async def test_messages_that_let_a_check_in_fail_make_no_loop(ground: Ground) -> None:
    """RC-12: the channel leads to a check-in of the same team, which each message lets fail."""
    job = await ground.job()
    echo = await checkin(ground)
    url = str(ground.owner._session._base_url).rstrip("/")
    await ground.channel(webhook=f"{url}{echo.path}/fail")
    await ground.look()
    ground.go(seconds=5)
    await ground.run(job, "dead")
    for _ in range(10):
        await ground.tell()
    sent = await ground.rows("SELECT state FROM deliveries")
    assert [row["state"] for row in sent] == ["delivered"] * 2  # of the job, and of the echo
