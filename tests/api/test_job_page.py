"""The pages of one job: what they show, and what is done on them."""

from __future__ import annotations

import re
from datetime import datetime

import aiohttp
import pytest
from tests.api.served import JOBS, Hands, Owner, signed_in

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAGE = "/teams/payments/jobs/nightly"
DUE = re.compile(r'name="due_at" value="([^"]+)"')


async def text_of(browser: aiohttp.ClientSession, path: str) -> str:
    async with browser.get(path) as answer:
        text = await answer.text()
        assert answer.status == 200, text
        return text


async def submit(browser: aiohttp.ClientSession, path: str, csrf: str, **fields: str) -> str:
    """Send a form from the job's page; return the page that it leads to."""
    headers = {"Referer": str(browser._build_url(PAGE))}
    async with browser.post(path, data={"csrf": csrf, **fields}, headers=headers) as answer:
        return await answer.text()


async def state(owner: Owner) -> str:
    found: str = (await owner.get(f"{JOBS}/nightly")).json["state"]
    return found


async def next_due(owner: Owner) -> str:
    due: str = (await owner.get(f"{JOBS}/nightly/preview", count=1)).json["due"][0]["utc"]
    return due


async def test_the_page_tells_when_the_job_is_due_and_what_holds_for_it(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    await owner.job(overlap="queue", retry={"attempts": 4}, labels={"tier": "gold"})
    await owner.put(f"{JOBS}/after", _after("nightly"))
    await signed_in(browser)
    page = await text_of(browser, PAGE)
    assert "At 02:00, every day, Europe/Berlin time." in page
    assert "Up to 4 attempts" in page
    assert "waits for its end, at most 1 run." in page
    assert "tier=gold" in page
    assert "/teams/payments/jobs/after" in page
    assert page.count("Skip this one") == 20
    assert "No runs yet" in page


async def test_what_owners_write_stays_text(browser: aiohttp.ClientSession, owner: Owner) -> None:
    markup = "<script>alert(1)</script>"
    await owner.job(description=markup, target={"command": {"argv": ["echo", markup]}})
    await owner.post(f"{JOBS}/nightly/pause", {"reason": markup})
    await signed_in(browser)
    for path in (PAGE, f"{PAGE}/revisions", f"{PAGE}/runs", f"{PAGE}/alerts", f"{PAGE}/explain"):
        page = await text_of(browser, path)
        assert markup not in page
        assert "&lt;script&gt;" in page


async def test_secrets_of_the_target_are_masked(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    await owner.job(
        target={"http": {"url": "https://x.example", "headers": {"Api-Token": "s3cr3t"}}}
    )
    await signed_in(browser)
    page = await text_of(browser, PAGE)
    assert "Api-Token" in page
    assert "s3cr3t" not in page


async def test_a_run_is_triggered_with_input(browser: aiohttp.ClientSession, owner: Owner) -> None:
    await owner.job(target={"command": {"argv": ["echo"], "env": {"DAY": "1"}}})
    csrf = await signed_in(browser)
    given = {"args": "--all\nnow", "env": "DAY=2", "key": "page-1"}
    for _ in range(2):  # a second click makes no second run
        await submit(browser, f"{PAGE}/trigger", csrf, **given)
    [run] = (await owner.get(f"{JOBS}/nightly/runs")).json["runs"]
    assert run["kind"] == "manual"
    given_input = (await owner.get(f"/v1/runs/{run['id']}/input")).json
    assert (given_input["args"], given_input["env"]) == (["--all", "now"], {"DAY": "2"})


async def test_a_pause_has_a_reason_and_an_end(
    browser: aiohttp.ClientSession, owner: Owner, hands: Hands
) -> None:
    hands.at = datetime.fromisoformat("2030-01-01T12:00:00Z")
    await owner.job()
    csrf = await signed_in(browser)
    fields = {"reason": "the bank is down", "until": "2h", "missed": "last"}
    page = await submit(browser, f"{PAGE}/pause", csrf, **fields)
    assert "Paused payments/nightly." in page
    assert "the bank is down" in page
    job = (await owner.get(f"{JOBS}/nightly")).json
    assert (job["state"], job["paused_until"][:19]) == ("paused", "2030-01-01T14:00:00")


async def test_moments_are_typed_by_the_clocks_of_the_job(
    browser: aiohttp.ClientSession, owner: Owner, hands: Hands
) -> None:
    hands.at = datetime.fromisoformat("2030-03-30T12:00:00Z")  # clocks go ahead in the next night
    await owner.job(schedule={"cron": "0 6 * * *", "timezone": "Europe/Berlin"})
    csrf = await signed_in(browser)
    assert "in Europe/Berlin; empty: until somebody resumes it" in await text_of(browser, PAGE)
    page = await submit(browser, f"{PAGE}/pause", csrf, reason="x", until="tomorrow 02:30")
    assert "clocks in Europe/Berlin skip 2030-03-31 02:30:00" in page
    assert await state(owner) == "active"
    fields = {"due_at": "2030-03-31T04:00:00Z", "deed": "move", "move_to": "2030-03-31 07:30"}
    page = await submit(browser, f"{PAGE}/overrides", csrf, **fields)
    assert "is moved to 2030-03-31 07:30:00 Europe/Berlin (2030-03-31 05:30:00 UTC)" in page
    page = await submit(
        browser, f"{PAGE}/pause", csrf, reason="x", until="2030-04-01 06:00", missed="skip"
    )
    assert "It goes on at 2030-04-01 06:00:00 Europe/Berlin" in page
    assert 'value="2030-04-01 06:00:00"' in page
    job = (await owner.get(f"{JOBS}/nightly")).json
    assert job["overrides"][0]["move_to"][:19] == "2030-03-31T05:30:00"
    assert job["paused_until"][:19] == "2030-04-01T04:00:00"


async def test_a_wrong_moment_changes_nothing(browser: aiohttp.ClientSession, owner: Owner) -> None:
    await owner.job()
    csrf = await signed_in(browser)
    page = await submit(browser, f"{PAGE}/pause", csrf, reason="x", until="some day")
    assert "is no moment" in page
    assert await state(owner) == "active"


async def test_the_question_of_a_resume_tells_how_many_were_missed(
    browser: aiohttp.ClientSession, owner: Owner, hands: Hands
) -> None:
    hands.at = datetime.fromisoformat("2030-01-01T12:00:00Z")
    await owner.job()
    await owner.post(f"{JOBS}/nightly/pause", {"reason": "x"})
    hands.at = datetime.fromisoformat("2030-01-04T12:00:00Z")
    csrf = await signed_in(browser)
    assert "3 due times passed" in await text_of(browser, f"{PAGE}/missed")
    assert await state(owner) == "paused"
    page = await submit(browser, f"{PAGE}/resume", csrf, missed="last", reason="fixed")
    assert "1 run queued, 2 skipped" in page
    assert await state(owner) == "active"


async def test_an_occurrence_is_skipped_moved_and_restored(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    await owner.job()
    csrf = await signed_in(browser)
    due = await next_due(owner)
    fields = {"due_at": due, "deed": "skip", "reason": "bank holiday"}
    page = await submit(browser, f"{PAGE}/overrides", csrf, **fields)
    assert "will be skipped" in page
    assert "bank holiday" in page
    assert DUE.findall(page)
    fields = {"due_at": due, "deed": "move", "move_to": "3h"}
    assert "is moved to" in await submit(browser, f"{PAGE}/overrides", csrf, **fields)
    fields = {"due_at": due, "deed": "restore"}
    assert "runs as scheduled" in await submit(browser, f"{PAGE}/overrides", csrf, **fields)
    assert (await owner.get(f"{JOBS}/nightly")).json["overrides"] == []


async def test_a_job_that_others_follow_is_deleted_by_force_only(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    await owner.job()
    await owner.put(f"{JOBS}/after", _after("nightly"))
    csrf = await signed_in(browser)
    assert "would not run any more" in await text_of(browser, PAGE)
    assert "follows" in await submit(browser, f"{PAGE}/delete", csrf, reason="old")
    assert await state(owner) == "active"
    page = await submit(browser, f"{PAGE}/delete", csrf, reason="old", force="yes")
    assert "Deleted payments/nightly." in page
    assert "one was deleted at" in await text_of(browser, PAGE)


async def test_revisions_are_compared_and_rolled_back(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    await owner.job(timeout="1m")
    await owner.job(timeout="2m")
    await owner.job(timeout="3m")
    csrf = await signed_in(browser)
    page = await text_of(browser, f"{PAGE}/revisions")
    assert '<span class="diff-del">-timeout: 2m</span>' in page
    assert '<span class="diff-add">+timeout: 3m</span>' in page
    page = await text_of(browser, f"{PAGE}/revisions?older=1&newer=3")
    assert '<span class="diff-del">-timeout: 1m</span>' in page
    page = await submit(browser, f"{PAGE}/rollback", csrf, revision="1", reason="too slow")
    assert "Revision 4 is what revision 1 was." in page
    assert (await owner.get(f"{JOBS}/nightly")).json["spec"]["timeout"] == "1m"


async def test_runs_are_paged_with_those_that_were_skipped(
    browser: aiohttp.ClientSession, owner: Owner, hands: Hands
) -> None:
    hands.at = datetime.fromisoformat("2030-01-01T12:00:00Z")
    await owner.job(schedule={"every": "1m"})
    await owner.post(f"{JOBS}/nightly/pause", {"reason": "x"})
    hands.at = datetime.fromisoformat("2030-01-04T12:00:00Z")
    await owner.post(f"{JOBS}/nightly/resume", {"missed": "last"})
    await signed_in(browser)
    page = await text_of(browser, f"{PAGE}/runs")
    assert "4 319 due times".replace(" ", "\N{NO-BREAK SPACE}", 1) in page
    assert "queued" in page


async def test_why_a_job_did_not_run_is_told(browser: aiohttp.ClientSession, owner: Owner) -> None:
    await owner.job()
    await signed_in(browser)
    page = await text_of(browser, f"{PAGE}/explain?at=2020-01-01 01:00")
    assert 'class="verdict"' in page
    assert "is no moment" in await text_of(browser, f"{PAGE}/explain?at=never")


async def test_a_job_that_never_was_is_not_found(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    del owner
    await signed_in(browser)
    async with browser.get("/teams/payments/jobs/nothing") as answer:
        assert answer.status == 404


def _after(leader: str) -> dict[str, object]:
    return {
        "name": "after",
        "schedule": {"after": {"jobs": [leader]}},
        "target": {"command": {"argv": ["true"]}},
    }
