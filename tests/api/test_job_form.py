"""The form of a job, and the playground."""

from __future__ import annotations

import html
import re
from typing import Any

import aiohttp
import pytest
from tests.api.served import JOBS, SPEC, Owner, signed_in

from matins.kernel.documents import yaml_text
from matins.web.drafts import draft_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAGE = "/teams/payments/jobs/nightly"


async def text_of(browser: aiohttp.ClientSession, path: str) -> str:
    async with browser.get(path) as answer:
        text = await answer.text()
        assert answer.status == 200, text
        return html.unescape(text)


async def post(browser: aiohttp.ClientSession, path: str, form: dict[str, str]) -> tuple[int, str]:
    async with browser.post(path, data=form) as answer:
        return answer.status, html.unescape(await answer.text())


def form_of(document: dict[str, Any], csrf: str, **typed: str) -> dict[str, str]:
    draft = draft_of(document)
    fields = {**draft.fields, "yaml": draft.yaml, "synced": draft.synced, "team": "payments"}
    return fields | {"csrf": csrf} | typed


async def test_a_job_is_created_by_its_fields(browser: aiohttp.ClientSession, owner: Owner) -> None:
    csrf = await signed_in(browser)
    assert "At 02:00, every day, UTC" in await text_of(browser, "/jobs/new")
    typed = {"name": "weekly", "schedule.cron": "0 5 * * MON", "reason": "wanted by audit"}
    status, page = await post(browser, "/jobs/new", form_of(SPEC, csrf, **typed))
    assert (status, "Created payments/weekly." in page) == (200, True)
    job = (await owner.get(f"{JOBS}/weekly")).json
    assert job["spec"]["schedule"]["cron"] == "0 5 * * MON"
    [revision] = (await owner.get(f"{JOBS}/weekly/revisions")).json["revisions"]
    assert revision["reason"] == "wanted by audit"


async def test_what_was_typed_stays_when_it_is_refused(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    csrf = await signed_in(browser)
    typed = {"name": "weekly", "schedule.cron": "61 5 * * MON", "reason": "my reason"}
    status, page = await post(browser, "/jobs/new", form_of(SPEC, csrf, **typed))
    assert status == 422
    for text in ('value="61 5 * * MON"', "'61' is out of range", 'value="my reason"'):
        assert text in page
    assert (await owner.get(f"{JOBS}/weekly")).status == 404


async def test_a_name_that_is_taken_is_told_beside_the_name(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    await owner.job()
    csrf = await signed_in(browser)
    status, page = await post(browser, "/jobs/new", form_of(SPEC, csrf))
    assert status == 422
    assert re.search(r'id="fault-name">[^<]*has a job', page)


async def test_what_only_the_database_knows_is_told_in_the_form(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    del owner
    csrf = await signed_in(browser)
    status, page = await post(
        browser, "/jobs/new", form_of(SPEC, csrf, **{"schedule.calendars": "feasts"})
    )
    assert (status, "feasts" in page) == (422, True)


async def test_a_job_is_changed_by_its_yaml(browser: aiohttp.ClientSession, owner: Owner) -> None:
    job = await owner.job()
    csrf = await signed_in(browser)
    page = await text_of(browser, f"{PAGE}/edit")
    assert "cron: 0 2 * * *" in page
    typed = yaml_text({**SPEC, "timeout": "3m"})
    form = form_of(SPEC, csrf, yaml=typed, revision=str(job["revision"]), reason="slow")
    status, page = await post(browser, f"{PAGE}/edit", form)
    assert (status, "Saved." in page) == (200, True)
    assert (await owner.get(f"{JOBS}/nightly")).json["spec"]["timeout"] == "3m"


async def test_a_change_meanwhile_is_not_written_over(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    before = await owner.job()
    await owner.job(timeout="9m")
    csrf = await signed_in(browser)
    form = form_of(SPEC, csrf, timeout="3m", revision=str(before["revision"]))
    status, page = await post(browser, f"{PAGE}/edit", form)
    assert (status, "was changed meanwhile" in page) == (422, True)
    assert (await owner.get(f"{JOBS}/nightly")).json["spec"]["timeout"] == "9m"


async def test_a_job_keeps_its_name(browser: aiohttp.ClientSession, owner: Owner) -> None:
    job = await owner.job()
    csrf = await signed_in(browser)
    form = form_of(SPEC, csrf, name="other", revision=str(job["revision"]))
    status, page = await post(browser, f"{PAGE}/edit", form)
    assert (status, "must stay 'nightly'" in page) == (422, True)
    assert (await owner.get(f"{JOBS}/other")).status == 404


async def test_a_draft_is_answered_with_what_will_come_of_it(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    await owner.job()
    csrf = await signed_in(browser)
    form = form_of(SPEC, csrf, timeout="3m", editing="nightly")
    status, part = await post(browser, "/jobs/draft", form)
    assert status == 200
    assert "At 02:00, every day, Europe/Berlin time." in part
    assert "does not exist on" in part
    assert '<span class="diff-add">+timeout: 3m</span>' in part
    assert 'id="yaml"' in part
    assert 'id="fields"' not in part
    form = form_of(SPEC, csrf, yaml=yaml_text({**SPEC, "timeout": "4m"}))
    _, part = await post(browser, "/jobs/draft", form)
    assert 'id="fields"' in part
    assert 'value="4m"' in part


async def test_a_draft_stores_nothing(browser: aiohttp.ClientSession, owner: Owner) -> None:
    csrf = await signed_in(browser)
    await post(browser, "/jobs/draft", form_of(SPEC, csrf))
    assert (await owner.get(f"{JOBS}/nightly")).status == 404


async def test_the_playground_tells_a_schedule_in_two_zones(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    del owner
    await signed_in(browser)
    query = "schedule=30 2 * * *&zone=Europe/Berlin&other=America/New_York"
    page = await text_of(browser, f"/playground?{query}")
    assert "At 02:30, every day, Europe/Berlin time." in page
    assert page.count("<tr data-row") == 20
    assert "20:30:00 -0500" in page or "20:30:00 -0400" in page
    assert "does not exist on" in page


@pytest.mark.parametrize(
    "query",
    ["schedule=61 * * * *", "schedule=", "schedule=0 1 * * *&zone=Mars/Base", "other=Mars/Base"],
)
async def test_the_playground_says_what_is_wrong(
    browser: aiohttp.ClientSession, owner: Owner, query: str
) -> None:
    del owner
    await signed_in(browser)
    page = await text_of(browser, f"/playground?{query}")
    assert 'class="fault"' in page
    assert "Make a job of it" not in page


async def test_a_schedule_of_the_playground_becomes_a_job(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    del owner
    await signed_in(browser)
    page = await text_of(browser, "/jobs/new?schedule=every: 20m")
    assert "every: 20m" in page
    assert "Every 20 minutes" in page
