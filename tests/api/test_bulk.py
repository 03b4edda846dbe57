"""What is done to many jobs of the list at once."""

from __future__ import annotations

import re
from datetime import datetime
from html import unescape

import aiohttp
import pytest
from tests.api.served import JOBS, Hands, Owner, signed_in

HIDDEN = re.compile(r'<input type="hidden" name="(?!csrf)(\w+)" value="([^"]*)">')

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


async def test_a_job_that_is_paused_keeps_its_own_pause(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    for name in ("one", "two"):
        await owner.job(name=name)
    await owner.post(f"{JOBS}/one/pause", {"reason": "the vendor is down"})
    csrf = await signed_in(browser)
    await post(browser, "/jobs/bulk", csrf, ["one", "two"], deed="pause", reason="release")
    jobs = [(await owner.get(f"{JOBS}/{name}")).json for name in ("one", "two")]
    assert [job["reason"] for job in jobs] == ["the vendor is down", "release"]


async def test_very_many_are_done_part_by_part_and_each_answer_tells_how_far_it_is(
    browser: aiohttp.ClientSession, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("matins.web.pages.job_bulk.PART", 2)
    for name in ("a", "b", "c", "d", "e"):
        await owner.job(name=name, labels={"tier": "gold"} if name != "d" else {})
    await owner.post(f"{JOBS}/b/pause", {"reason": "kept"})
    csrf = await signed_in(browser)
    fields = {"deed": "trigger", "every": "yes", "label": "tier=gold", "key": "page-1"}
    answer = await post(browser, "/jobs/bulk", csrf, [], **fields)
    assert "Triggered <strong>2</strong> of 4 jobs" in answer
    following = dict(HIDDEN.findall(answer))
    assert following["after"] == "payments/b"
    for _ in range(2):  # whoever asks twice for a part changes nothing by it
        answer = await post(browser, "/jobs/bulk", csrf, [], **following)
        assert "Triggered <strong>4</strong> of 4 jobs" in answer
    following = dict(HIDDEN.findall(answer))
    answer = await post(browser, "/jobs/bulk", csrf, [], **following)
    assert "That is all." in answer
    counts = [len((await owner.get(f"{JOBS}/{name}/runs")).json["runs"]) for name in "abcde"]
    assert counts == [1, 1, 1, 0, 1]


async def test_those_of_a_state_are_counted_before_they_leave_it(
    browser: aiohttp.ClientSession, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("matins.web.pages.job_bulk.PART", 2)
    for name in ("a", "b", "c", "d"):
        await owner.job(name=name)
    await owner.post(f"{JOBS}/b/pause", {"reason": "kept"})
    csrf = await signed_in(browser)
    fields = {"deed": "pause", "every": "yes", "state": "active"}
    answer = await post(browser, "/jobs/bulk", csrf, [], **fields)
    assert "Paused <strong>2</strong> of 3 jobs" in answer


async def test_faults_of_all_parts_are_told(
    browser: aiohttp.ClientSession, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("matins.web.pages.job_bulk.PART", 1)
    full = {str(number): "x" for number in range(32)}
    await owner.job(name="a", labels=full)
    await owner.job(name="b")
    csrf = await signed_in(browser)
    fields = {"deed": "label", "set_labels": "tier=<b>", "every": "yes"}
    answer = await post(browser, "/jobs/bulk", csrf, [], **fields)
    assert "payments/a: labels: are more than 32" in answer
    assert "tier=&lt;b&gt;" in answer
    following = {name: unescape(value) for name, value in HIDDEN.findall(answer)}
    answer = await post(browser, "/jobs/bulk", csrf, [], **following)
    assert "Changed the labels of <strong>1</strong> of 2 jobs" in answer
    assert "payments/a: labels: are more than 32" in answer
    assert (await shown(owner, "b"))[1] == {"tier": "<b>"}


async def test_of_very_many_it_is_told_what_the_first_have_missed(
    browser: aiohttp.ClientSession,
    owner: Owner,
    hands: Hands,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("matins.web.pages.job_bulk.COUNTED", 2)
    hands.at = datetime.fromisoformat("2030-01-01T12:00:00Z")
    for name in ("a", "b", "c"):
        await owner.job(name=name)
        await owner.post(f"{JOBS}/{name}/pause", {"reason": "x"})
    hands.at = datetime.fromisoformat("2030-01-02T12:00:00Z")
    csrf = await signed_in(browser)
    page = await post(browser, "/jobs/bulk/missed", csrf, [], every="yes")
    assert "2 due times passed while they did not run: that is counted of the first 2 jobs" in page


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
        ({"deed": "label"}, "name a label to add"),
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
