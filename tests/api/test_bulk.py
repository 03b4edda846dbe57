"""What is done to many jobs of the list at once."""

from __future__ import annotations

from datetime import datetime

import aiohttp
import pytest
from tests.api.served import JOBS, Hands, Owner, signed_in

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def post(
    browser: aiohttp.ClientSession, path: str, csrf: str, jobs: list[str], **fields: str
) -> str:
    form = [("csrf", csrf), *(("job", f"payments/{job}") for job in jobs), *fields.items()]
    async with browser.post(path, data=form) as answer:
        return await answer.text()


async def shown(owner: Owner, name: str) -> tuple[str, dict[str, str]]:
    job = (await owner.get(f"{JOBS}/{name}")).json
    return job["state"], job["spec"].get("labels", {})


async def test_the_question_of_a_resume_counts_what_all_have_missed(
    browser: aiohttp.ClientSession, owner: Owner, hands: Hands
) -> None:
    hands.at = datetime.fromisoformat("2030-01-01T12:00:00Z")
    for name in ("first", "one", "two"):
        await owner.job(name=name)
        await owner.post(f"{JOBS}/{name}/pause", {"reason": "x"})
    hands.at = datetime.fromisoformat("2030-01-04T12:00:00Z")
    await owner.post(f"{JOBS}/first/resume")  # so that the days have their tables, as ever
    csrf = await signed_in(browser)
    page = await post(browser, "/jobs/bulk/missed", csrf, ["one", "two"])
    assert "6 due times passed while they did not run." in page
    assert await shown(owner, "one") == ("paused", {})
    fields = {"deed": "resume", "missed": "last"}
    assert "Resumed 2 jobs." in await post(browser, "/jobs/bulk", csrf, ["one", "two"], **fields)
    for name in ("one", "two"):
        runs = (await owner.get(f"{JOBS}/{name}/runs")).json["runs"]
        assert [run["state"] for run in runs].count("queued") == 1


async def test_labels_are_set_and_removed_with_a_reason(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    await owner.job(name="one", labels={"old": "yes"})
    await owner.job(name="two")
    csrf = await signed_in(browser)
    fields = {"set_labels": "tier=gold", "drop_labels": "old", "reason": "tidying"}
    page = await post(browser, "/jobs/bulk", csrf, ["one", "two"], deed="label", **fields)
    assert "Changed the labels of 2 jobs." in page
    assert await shown(owner, "one") == ("active", {"tier": "gold"})
    assert await shown(owner, "two") == ("active", {"tier": "gold"})
    [newest, _] = (await owner.get(f"{JOBS}/one/revisions")).json["revisions"]
    assert (newest["reason"], newest["changes"]) == ("tidying", ["labels"])


async def test_all_that_match_are_meant_without_being_picked(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    for name in ("one", "two"):
        await owner.job(name=name, labels={"tier": "gold"})
    await owner.job(name="three")
    csrf = await signed_in(browser)
    fields = {"deed": "pause", "every": "yes", "label": "tier=gold", "reason": "x"}
    assert "Paused 2 jobs." in await post(browser, "/jobs/bulk", csrf, [], **fields)
    states = [(await shown(owner, name))[0] for name in ("one", "two", "three")]
    assert states == ["paused", "paused", "active"]


async def test_what_is_wrong_with_one_stops_none_of_the_others(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    await owner.job(name="one")
    csrf = await signed_in(browser)
    page = await post(browser, "/jobs/bulk", csrf, ["gone", "one"], deed="pause", reason="x")
    assert "Paused 1 job. Not done: payments/gone:" in page
    assert (await shown(owner, "one"))[0] == "paused"


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"deed": "label"}, "set_labels"),
        ({"deed": "label", "set_labels": "tier"}, "name=value"),
        ({"deed": "explode"}, "deed"),
        ({"deed": "resume", "missed": "some"}, "missed"),
    ],
)
async def test_what_cannot_be_done_is_told_and_changes_nothing(
    browser: aiohttp.ClientSession, owner: Owner, fields: dict[str, str], told: str
) -> None:
    await owner.job(name="one")
    csrf = await signed_in(browser)
    headers = {"Referer": str(browser._build_url("/jobs"))}
    browser.headers.update(headers)
    page = await post(browser, "/jobs/bulk", csrf, ["one"], **fields)
    assert told in page
    assert (await owner.get(f"{JOBS}/one")).json["revision"] == 1
