"""The pages of what is due when, and of what follows what."""

from __future__ import annotations

import aiohttp
import pytest
from tests.api.served import JOBS, Owner, signed_in

pytestmark = pytest.mark.asyncio(loop_scope="module")

TARGET = {"command": {"argv": ["true"]}}


async def text_of(browser: aiohttp.ClientSession, path: str) -> str:
    async with browser.get(path) as answer:
        assert answer.status == 200
        return await answer.text()


async def put(owner: Owner, name: str, **schedule: object) -> None:
    spec = {"name": name, "target": TARGET, "schedule": schedule}
    reply = await owner.put(f"{JOBS}/{name}", spec)
    assert reply.status == 200, reply.text


async def test_the_calendar_shows_the_load_and_the_time_line(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    await put(owner, "hourly", cron="0 * * * *")
    await signed_in(browser)
    page = await text_of(browser, "/calendar")
    assert "168 fires of 1 job in the next seven days" in page
    assert page.count('class="fill-coming"') >= 23
    assert "/teams/payments/jobs/hourly" in page


async def test_the_calendar_of_another_team_is_empty(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    await put(owner, "hourly", cron="0 * * * *")
    await signed_in(browser)
    assert "No job matches" in await text_of(browser, "/calendar?team=growth")


async def test_many_runs_in_one_minute_are_warned_of(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    for number in range(60):
        await put(owner, f"nightly-{number}", cron="0 2 * * *")
    await signed_in(browser)
    page = await text_of(browser, "/calendar")
    assert " runs are due in the minute of 02:00 UTC" in page


async def test_a_maintenance_window_and_a_closed_day_are_shown(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    window = {
        "name": "move",
        "starts_at": "2030-01-01T00:00:00Z",
        "ends_at": "2030-01-01T04:00:00Z",
    }
    assert (await owner.put("/v1/teams/payments/windows/move", window)).status == 200
    calendar = {"name": "feasts", "exclude": [{"dates": "12-25", "label": "Christmas"}]}
    assert (await owner.put("/v1/teams/payments/calendars/feasts", calendar)).status == 200
    await signed_in(browser)
    page = await text_of(browser, "/calendar?team=payments")
    assert "payments/move</a>" in page
    assert "-12-25 Christmas" in page


async def test_chains_are_drawn_with_how_each_job_stands(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    await put(owner, "extract", every="1h")
    await put(owner, "load", after={"jobs": ["extract"], "when": "all_done"})
    await put(owner, "alone", every="1h")
    await signed_in(browser)
    page = await text_of(browser, "/chains")
    assert "payments/load follows payments/extract" in page
    assert "when all have ended" in page
    assert "alone" not in page
    assert "No chain matches" in await text_of(browser, "/chains?q=nothing")
