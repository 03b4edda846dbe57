"""The pages of dead letters, and what is done to many of them at once."""

from __future__ import annotations

import aiohttp
import pytest
import pytest_asyncio
from tests.api.served import Owner, signed_in
from tests.api.test_dead import DEAD, die
from tests.api.test_run_pages import text_of
from tests.api.test_runs import Fleet

from matins.store.database import Database

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def dead(owner: Owner, database: Database) -> list[str]:
    """Two dead runs of one job, and one of another."""
    fleet = Fleet(database)
    await owner.job()
    await owner.job(name="hourly")
    return [await die(owner, fleet), await die(owner, fleet), await die(owner, fleet, "hourly")]


async def submit(browser: aiohttp.ClientSession, path: str, fields: list[tuple[str, str]]) -> str:
    """Sign in, send a form, and return the page that follows."""
    csrf = await signed_in(browser)
    headers = {"Referer": str(browser._build_url("/dead"))}
    async with browser.post(path, data=[("csrf", csrf), *fields], headers=headers) as answer:
        assert answer.url.path == "/dead"
        return await answer.text()


async def open_runs(owner: Owner) -> set[str]:
    return {letter["run_id"] for letter in (await owner.get(DEAD)).json["letters"]}


async def test_alike_letters_are_one_row(
    browser: aiohttp.ClientSession, owner: Owner, dead: list[str]
) -> None:
    await signed_in(browser)
    for query in ("", "?team=payments"):
        page = await text_of(browser, f"/dead{query}")
        assert "3 open letters in 2 groups" in page
        assert page.index("payments/nightly/") < page.index("payments/hourly/")
        assert "exit code 1: what it wrote" in page
    assert "No dead letters" in await text_of(browser, "/dead?team=search")


async def test_letters_are_found_by_job_fingerprint_and_time(
    browser: aiohttp.ClientSession, owner: Owner, dead: list[str]
) -> None:
    letters = (await owner.get(DEAD)).json["letters"]
    await signed_in(browser)
    counts = {
        query: sum(f"/runs/{run}" in page for run in dead)
        for query in (
            *("", "&job=hourly", f"&fingerprint={letters[0]['fingerprint']}", "&fingerprint=odd"),
            *(f"&since={letters[0]['dead_at']}".replace("+", "%2B"), "&dismissed=true"),
        )
        for page in [await text_of(browser, f"/dead/letters?team=payments{query}")]
    }
    assert list(counts.values()) == [3, 1, 3, 0, 1, 0]


async def test_letters_are_those_of_a_team(browser: aiohttp.ClientSession) -> None:
    await signed_in(browser)
    async with browser.get("/dead/letters") as answer:
        assert (answer.status, "letters are those of one team" in await answer.text()) == (
            422,
            True,
        )


async def test_groups_are_replayed_at_a_rate(
    browser: aiohttp.ClientSession, owner: Owner, dead: list[str]
) -> None:
    groups = (await owner.get(f"{DEAD}/groups")).json
    keys = [f"payments/{group['job']}/{group['fingerprint']}" for group in groups]
    page = await submit(
        browser, "/dead/replay", [*(("group", key) for key in keys), ("rate", "100/m")]
    )
    assert "Replaying 3 dead letters." in page
    replays = (await owner.get("/v1/teams/payments/replays")).json
    assert {(replay["job"], replay["planned"], replay["rate"]) for replay in replays} == {
        ("nightly", 2, "100/m"),
        ("hourly", 1, "100/m"),
    }
    assert "0 of 2" in page
    assert "admin" in page


async def test_picked_letters_are_dismissed_with_a_note(
    browser: aiohttp.ClientSession, owner: Owner, dead: list[str]
) -> None:
    fields = [("team", "payments"), ("run", dead[0]), ("run", dead[2]), ("note", "by hand")]
    assert "Dismissed 2 dead letters." in await submit(browser, "/dead/dismiss", fields)
    assert await open_runs(owner) == {dead[1]}
    page = await text_of(browser, "/dead/letters?team=payments&dismissed=true")
    assert "by hand" in page
    assert f"/runs/{dead[0]}" in page


@pytest.mark.parametrize(("job", "left"), [("nightly", 1), ("", 0)])
async def test_all_that_match_are_dismissed(
    browser: aiohttp.ClientSession, owner: Owner, dead: list[str], job: str, left: int
) -> None:
    fields = [("team", "payments"), ("scope", "matching"), ("job", job), ("fingerprint", "")]
    assert "Dismissed" in await submit(browser, "/dead/dismiss", fields)
    assert len(await open_runs(owner)) == left


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([("team", "payments")], "none is picked"),
        ([("group", "odd")], "it is named as team/job/fingerprint"),
        ([("team", "payments"), ("run", "odd")], "is not an id"),
        ([("team", "payments"), ("scope", "matching"), ("rate", "fast")], "rate"),
    ],
)
async def test_what_can_not_be_done_is_told_and_changes_nothing(
    browser: aiohttp.ClientSession,
    owner: Owner,
    dead: list[str],
    fields: list[tuple[str, str]],
    message: str,
) -> None:
    assert message in await submit(browser, "/dead/replay", fields)
    assert await open_runs(owner) == set(dead)
    assert (await owner.get("/v1/teams/payments/replays")).json == []


async def test_a_replay_is_cancelled_while_one_looks_on(
    browser: aiohttp.ClientSession, owner: Owner, dead: list[str]
) -> None:
    replay = (await owner.post(f"{DEAD}/replay", {"everything": True, "rate": "1/d"})).json
    page = await submit(browser, "/dead/replays/cancel", [("replay", replay["id"])])
    assert "Cancelled; 3 letters of it stay as they are." in page
    async with browser.get("/live/replays/payments") as stream:
        assert "is-cancelled" in (await stream.content.readuntil(b"\n\n")).decode()
