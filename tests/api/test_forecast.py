"""The load ahead over HTTP: all that was acknowledged counts, from then on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio
from tests.api.served import JOBS, SPEC, Hands, Owner, calling, serve

from matins.store.database import Database
from matins.store.forecasts import PostgresForecasts
from matins.store.timings import KnownCalendars

pytestmark = pytest.mark.asyncio(loop_scope="module")

JOB = f"{JOBS}/nightly"
NOON = datetime(2026, 12, 1, 12, 0, 30, tzinfo=UTC)
HOURLY = {"cron": "15 * * * *"}


@pytest_asyncio.fixture(loop_scope="module")
async def owner(database: Database, hands: Hands, valkey: str) -> AsyncIterator[Owner]:
    """Someone who calls an API that has read nothing yet, at noon."""
    hands.at = NOON
    async with serve(database, valkey) as served, calling(served.url) as owner:
        yield owner


async def ask(owner: Owner, **query: object) -> dict[str, Any]:
    reply = await owner.get("/v1/forecast", **query)
    assert reply.status == 200, reply.text
    told: dict[str, Any] = reply.json
    return told


async def test_the_fires_of_a_day_are_told_minute_by_minute_from_this_minute_on(
    owner: Owner,
) -> None:
    await owner.job(schedule=HOURLY)
    await owner.job(name="late", schedule={"cron": "15 20 * * *"}, pool="big")
    told = await ask(owner)
    assert (told["since"], told["until"]) == ("2026-12-01T12:00:00Z", "2026-12-02T12:00:00Z")
    assert (told["jobs"], told["fires"], told["step_s"], len(told["counts"])) == (2, 25, 60, 1440)
    assert [at for at, fires in enumerate(told["counts"]) if fires == 2] == [8 * 60 + 15]
    peak = {"at": "2026-12-01T20:15:00Z", "fires": 2}
    assert told["peak_minute"] == told["peak_second"] == peak
    shares = [("default", 1, 24), ("big", 1, 1)]
    assert [(pool["name"], pool["jobs"], pool["fires"]) for pool in told["pools"]] == shares
    assert [(team["name"], team["fires"]) for team in told["teams"]] == [("payments", 25)]


async def test_a_week_is_told_hour_by_hour(owner: Owner) -> None:
    await owner.job(schedule=HOURLY)
    told = await ask(owner, hours=168)
    assert (told["step_s"], told["counts"], told["fires"]) == (3600, [1] * 168, 168)


async def test_a_team_or_a_pool_is_told_alone(owner: Owner) -> None:
    await owner.job(schedule=HOURLY)
    await owner.put("/v1/teams/others/jobs/nightly", SPEC | {"schedule": HOURLY, "pool": "big"})
    assert (await ask(owner))["fires"] == 48
    assert [(await ask(owner, team=team))["fires"] for team in ("payments", "nobody")] == [24, 0]
    assert [(await ask(owner, pool=pool))["fires"] for pool in ("big", "none")] == [24, 0]
    assert (await ask(owner, team="payments", pool="big"))["jobs"] == 0


async def test_each_change_counts_as_soon_as_it_is_acknowledged(owner: Owner) -> None:
    steps: list[tuple[str, str, object, float]] = [
        ("PUT", JOB, SPEC | {"schedule": HOURLY}, 24),
        ("PUT", JOB, SPEC | {"schedule": {"every": "1m"}}, 1440),
        ("POST", f"{JOB}/pause", None, 0),
        ("POST", f"{JOB}/resume", {"missed": "skip"}, 1440),
        ("PUT", JOB, {"name": "nightly", "target": SPEC["target"]}, 0),
        ("PUT", JOB, SPEC, 1),
        ("DELETE", JOB, None, 0),
    ]
    assert (await ask(owner))["fires"] == 0
    for method, path, body, fires in steps:
        reply = await owner.call(method, path, json=body)
        assert reply.status == 200, reply.text
        assert (await ask(owner))["fires"] == fires, (method, path)


async def test_the_window_moves_on_with_the_time(owner: Owner, hands: Hands) -> None:
    await owner.job(schedule={"at": "2026-12-01T12:05:00Z"})
    await owner.job(name="begins", schedule={"every": "10m"})
    assert (await ask(owner, hours=1))["fires"] == 1 + 6
    hands.at = NOON + timedelta(hours=2)
    told = await ask(owner, hours=1)
    assert (told["since"], told["fires"]) == ("2026-12-01T14:00:00Z", 6)


async def test_what_a_calendar_closes_does_not_fire(owner: Owner) -> None:
    closed = {"name": "freeze", "exclude": [{"dates": "2026-12-02"}]}
    await owner.put("/v1/teams/payments/calendars/freeze", closed)
    await owner.job(schedule=HOURLY | {"calendars": ["freeze"]})
    assert (await ask(owner))["fires"] == 12
    await owner.put("/v1/teams/payments/calendars/freeze", closed | {"exclude": []})
    assert (await ask(owner))["fires"] == 24


async def test_a_job_that_cannot_be_read_stops_nobody(owner: Owner, database: Database) -> None:
    await owner.job(schedule=HOURLY)
    await owner.job(name="broken", schedule=HOURLY)
    async with database.session() as session:
        await session.execute("UPDATE jobs SET schedule = '{\"cron\": 7}' WHERE name = 'broken'")
    assert (await ask(owner))["jobs"] == 1


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ({"hours": 0}, "hours"),
        ({"hours": 169}, "hours"),
        ({"hours": "x"}, "hours"),
        ({"team": "Not a name"}, "team"),
        ({"pool": ""}, "pool"),
        ({"job": "nightly"}, "job"),
    ],
)
async def test_what_cannot_be_asked_is_refused(
    owner: Owner, query: dict[str, object], place: str
) -> None:
    reply = await owner.get("/v1/forecast", **query)
    assert (reply.status, list(reply.places)) == (422, [place])


async def test_a_hot_spot_is_warned_of_with_a_quiet_minute(
    owner: Owner, database: Database
) -> None:
    for number in range(60):
        await owner.job(name=f"job-{number}", schedule={"cron": "0 0 * * *"})
    forecasts = PostgresForecasts(database, KnownCalendars())
    fires = [NOON.replace(hour=23, second=0), datetime(2026, 12, 3, tzinfo=UTC)]
    told = "fires with 60 other jobs at this minute; 01:01 has 0"
    assert await forecasts.hot_spot(fires, "Europe/Berlin") == told
    assert "59 other" in await forecasts.hot_spot(fires, "UTC", own=True)
    assert await forecasts.hot_spot(fires[:1], "UTC") == ""
