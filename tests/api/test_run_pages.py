"""The pages of runs: the list, one run, and what is done to it there."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import aiohttp
import pytest
from tests.api.served import CSRF, JOBS, Hands, Owner, signed_in
from tests.api.test_dead import die
from tests.api.test_runs import Fleet

from matins.domain.runs.states import Outcome, RunState
from matins.store.database import Database

pytestmark = pytest.mark.asyncio(loop_scope="module")

SECRET = "tok_live_9d8f"
COMMAND = {"command": {"argv": ["pay"], "env": {"PAY_TOKEN": SECRET, "DAY": "1"}}}
SCRIPT = "<script>alert(1)</script>"


async def text_of(browser: aiohttp.ClientSession, path: str) -> str:
    async with browser.get(path) as answer:
        text = await answer.text()
        assert answer.status == 200, text
        return text


async def submit(
    browser: aiohttp.ClientSession, run: str, deed: str, **fields: str
) -> tuple[str, str]:
    """Send a form of a run's page; return the path of the page that follows, and its text."""
    async with browser.get("/") as answer:
        is_signed_in = answer.url.path == "/"
        found = CSRF.search(await answer.text())
    csrf = found[1] if is_signed_in and found else await signed_in(browser)
    headers = {"Referer": str(browser._build_url(f"/runs/{run}"))}
    form = {"csrf": csrf, **fields}
    async with browser.post(f"/runs/{run}/{deed}", data=form, headers=headers) as answer:
        return answer.url.path, await answer.text()


async def state(owner: Owner, run: str) -> str:
    found: str = (await owner.get(f"/v1/runs/{run}")).json["state"]
    return found


async def trigger(owner: Owner, **given: object) -> str:
    await owner.job(target=COMMAND, **given)
    run: str = (await owner.post(f"{JOBS}/nightly/trigger", {"env": {"DAY": "2"}})).json["id"]
    return run


async def test_runs_are_found_by_state_job_and_time(
    browser: aiohttp.ClientSession, owner: Owner, database: Database, hands: Hands
) -> None:
    await owner.job()
    dead = await die(owner, Fleet(database))
    queued: dict[str, Any] = (await owner.post(f"{JOBS}/nightly/trigger")).json
    await signed_in(browser)
    found = {
        query: [f"/runs/{run}" in page for run in (dead, queued["id"])]
        for query in (
            *("", "?state=dead", "?state=queued", "?team=payments", "?team=search"),
            *("?team=payments&job=nightly&state=dead", "?since=1h", "?since=2099-01-01"),
        )
        for page in [await text_of(browser, f"/runs{query}")]
    }
    assert list(found.values()) == [
        *([True, True], [True, False], [False, True], [True, True], [False, False]),
        *([True, False], [True, True], [False, False]),
    ]


@pytest.mark.parametrize("query", ["state=odd", "since=odd", "before=odd"])
async def test_what_a_filter_can_not_mean_is_told(
    browser: aiohttp.ClientSession, query: str
) -> None:
    await signed_in(browser)
    async with browser.get(f"/runs?{query}") as answer:
        assert answer.status in {400, 422}
        assert "odd" in await answer.text()


async def test_the_list_goes_on_where_a_page_ends(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    await owner.job()
    runs = [(await owner.post(f"{JOBS}/nightly/trigger")).json["id"] for _ in range(51)]
    await signed_in(browser)
    first = await text_of(browser, "/runs")
    assert runs[0] not in first
    assert f"/runs?before={runs[1]}" in first
    assert runs[0] in await text_of(browser, f"/runs?before={runs[1]}")


async def test_a_run_that_waits_says_what_is_before_it(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    run = await trigger(owner)
    await signed_in(browser)
    page = await text_of(browser, f"/runs/{run}")
    assert "Why it waits" in page
    assert "0 runs on the queue of pool default" in page
    assert f'data-live="/live/run/{run}"' in page


async def test_what_a_run_calls_is_shown_without_secrets(
    browser: aiohttp.ClientSession, owner: Owner, database: Database
) -> None:
    run = await trigger(owner)
    await Fleet(database).dequeue()
    await owner.job(target={"command": {"argv": ["other-program"]}})
    await signed_in(browser)
    page = await text_of(browser, f"/runs/{run}")
    assert "<dt>PAY_TOKEN</dt><dd>***</dd>" in page
    assert page.count("<dt>DAY</dt><dd>2</dd>") == 2
    assert SECRET not in page
    assert "other-program" not in page


async def test_a_dead_run_says_why_and_what_it_wrote(
    browser: aiohttp.ClientSession, owner: Owner, database: Database
) -> None:
    fleet = Fleet(database)
    await owner.job(target=COMMAND)
    good = (await owner.post(f"{JOBS}/nightly/trigger")).json["id"]
    await fleet.dequeue()
    await fleet.end(UUID(good), Outcome.SUCCEEDED, RunState.SUCCEEDED)
    await owner.job(target={"command": {"argv": ["pay", "--faster"]}})
    run = await die(owner, fleet)
    await signed_in(browser)
    page = await text_of(browser, f"/runs/{run}")
    assert "exit code 1: what it wrote" in page
    assert "0 of the 1 run before" in page
    assert "Results" not in page
    assert f"/runs/{good}" in page
    assert '<span class="diff-add">+    - --faster</span>' in page
    assert "data-live" not in page
    assert await text_of(browser, f"/runs/{run}/output.txt") == "what it wrote"


async def test_results_are_shown(
    browser: aiohttp.ClientSession, owner: Owner, database: Database
) -> None:
    run = await die_of(owner, database, "done")
    async with database.session() as session:
        await session.execute("""UPDATE attempts SET results = '{"rows": "184203"}'""")
    await signed_in(browser)
    assert "<dt>rows</dt><dd>184203</dd>" in await text_of(browser, f"/runs/{run}")


async def test_what_a_run_wrote_stays_text(
    browser: aiohttp.ClientSession, owner: Owner, database: Database
) -> None:
    run = await die_of(owner, database, SCRIPT)
    await signed_in(browser)
    page = await text_of(browser, f"/runs/{run}")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert SCRIPT not in page


async def die_of(owner: Owner, database: Database, output: str) -> str:
    await owner.job()
    run = await die(owner, Fleet(database))
    async with database.session() as session:
        await session.execute("UPDATE attempts SET output = $1, reason = $1", output)
        await session.execute("UPDATE runs SET reason = $1", output)
    return run


async def test_a_run_is_cancelled(browser: aiohttp.ClientSession, owner: Owner) -> None:
    run = await trigger(owner)
    path, page = await submit(browser, run, "cancel")
    assert (path, "Cancelled." in page) == (f"/runs/{run}", True)
    assert await state(owner, run) == "cancelled"
    _, page = await submit(browser, run, "cancel")
    assert "the run has ended already: it is cancelled" in page


async def test_a_run_is_tried_again_now_or_no_more(
    browser: aiohttp.ClientSession, owner: Owner, database: Database
) -> None:
    fleet, run = Fleet(database), await trigger(owner, retry={"attempts": 3})
    await fleet.dequeue()
    await fleet.end(UUID(run), Outcome.FAILED, RunState.RETRYING, retry_in_s=600)
    _, page = await submit(browser, run, "retry")
    assert "The next attempt is made now." in page
    _, page = await submit(browser, run, "stop-retrying", reason="the file is wrong")
    assert "not to be tried again, says admin: the file is wrong" in page
    assert await state(owner, run) == "dead"


async def test_a_dead_run_is_replayed(
    browser: aiohttp.ClientSession, owner: Owner, database: Database
) -> None:
    await owner.job()
    run = await die(owner, Fleet(database))
    path, page = await submit(browser, run, "replay")
    assert (path, "one attempt more" in page) == (f"/runs/{run}", True)
    assert await state(owner, run) == "retrying"


async def test_a_dead_run_is_replayed_with_another_input_once(
    browser: aiohttp.ClientSession, owner: Owner, database: Database
) -> None:
    fleet, run = Fleet(database), await trigger(owner)
    await fleet.dequeue()
    await fleet.end(UUID(run), Outcome.FAILED, RunState.DEAD)
    form = {"key": "page 1", "env": "PAY_TOKEN=***\r\nDAY=3", "args": "--fast\r\n"}
    path, page = await submit(browser, run, "replay-edited", **form)
    made = path.removeprefix("/runs/")
    assert made != run
    assert f'Stands for</dt><dd><a href="/runs/{run}">' in page
    given = (await owner.get(f"/v1/runs/{made}/input")).json
    assert (given["args"], given["env"]["DAY"]) == (["--fast"], "3")
    assert (await submit(browser, run, "replay-edited", **form))[0] == path
    assert f"/runs/{made}" in await text_of(browser, f"/runs/{run}")


async def test_an_input_that_changes_nothing_is_refused(
    browser: aiohttp.ClientSession, owner: Owner, database: Database
) -> None:
    await owner.job()
    run = await die(owner, Fleet(database))
    path, page = await submit(browser, run, "replay-edited", key="page 1")
    assert (path, "changes nothing" in page) == (f"/runs/{run}", True)


async def test_a_run_that_is_not_there_is_told(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    await signed_in(browser)
    async with browser.get("/runs/019ae1f6-1b28-8a3c-9f05-2c5d1f0e7a42") as answer:
        assert (answer.status, "there is no run" in await answer.text()) == (404, True)


async def test_a_live_run_is_drawn_by_itself(browser: aiohttp.ClientSession, owner: Owner) -> None:
    run = await trigger(owner)
    await signed_in(browser)
    for part, shown in ((f"run/{run}", "Why it waits"), ("runs/state%3Dqueued", f"/runs/{run}")):
        async with browser.get(f"/live/{part}") as stream:
            assert stream.status == 200
            event = await stream.content.readuntil(b"\n\n")
            assert event.startswith(b"event: part\n")
            assert shown in event.decode()
