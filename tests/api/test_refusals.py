"""What would do nothing is refused, with what is known instead; and the page for browsers."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.api.served import JOBS, Owner

pytestmark = pytest.mark.asyncio(loop_scope="module")

JOB = f"{JOBS}/nightly"
RUN = f"/v1/runs/{UUID(int=7)}"

BROWSER = {"Accept": "text/html,*/*"}


@pytest.mark.parametrize(
    ("path", "field"),
    [(f"{RUN}/cancel", "reason")],
)
async def test_a_body_that_nobody_reads_is_refused(owner: Owner, path: str, field: str) -> None:
    await owner.job()
    refused = await owner.post(path, {field: "x"})
    assert (refused.status, refused.places) == (422, {field: "is not known here; it takes no body"})
    assert (await owner.get(JOB)).json["state"] == "active"
    text = await owner.call("POST", path, data=b"now!")
    assert (text.status, text.places) == (422, {"": "it takes no body"})


async def test_an_empty_body_says_nothing(owner: Owner) -> None:
    await owner.job()
    assert (await owner.call("POST", f"{JOB}/pause", json={})).status == 200


@pytest.mark.parametrize("path", ["/v1/jobs?reads=1", f"{RUN}?reads=1", f"{JOB}?owners=1"])
async def test_a_parameter_that_nobody_reads_is_refused(owner: Owner, path: str) -> None:
    refused = await owner.get(path)
    assert refused.status == 422
    assert all("is not known here" in message for message in refused.places.values())


async def test_no_part_of_the_server_is_described_as_a_parameter(owner: Owner) -> None:
    paths = (await owner.get("/openapi.json")).json["paths"]
    named = {
        parameter["name"]
        for path in paths.values()
        for operation in path.values()
        for parameter in operation.get("parameters", [])
    }
    assert named == {
        *("team", "name", "run_id", "due_at", "job", "pool"),
        *("attempt", "tail", "Last-Event-ID", "failed"),
        *("after", "before", "limit", "since", "until", "state", "count", "hours", "dry_run"),
        "recent",
        *("reason", "revision", "Idempotency-Key", "force", "at", "backfill_id", "key"),
        *(
            "fingerprint",
            "dismissed",
            "replay_id",
            "channel",
            "delivery_id",
            "token",
            "what",
            "duration",
        ),
    }


@pytest.mark.parametrize(
    "header", ["If-Match", "If-None-Match", "If-Unmodified-Since", "Idempotency-Key"]
)
async def test_a_condition_that_would_not_hold_is_refused(owner: Owner, header: str) -> None:
    await owner.job()
    refused = await owner.call("POST", f"{JOB}/pause", headers={header: '"7"'})
    assert refused.places == {header: "is not supported yet, so it would not hold; leave it out"}
    assert (await owner.get(JOB)).json["state"] == "active"
    assert (await owner.call("GET", JOB, headers={header: '"7"'})).status == 200


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PATCH", JOB, "DELETE, GET, PUT"),
        ("OPTIONS", JOB, "DELETE, GET, PUT"),
        ("GET", f"{JOB}/pause", "POST"),
        ("PUT", RUN, "GET"),
        ("POST", "/health", "GET, HEAD"),
    ],
)
async def test_a_wrong_method_is_told_the_right_ones(
    owner: Owner, method: str, path: str, allowed: str
) -> None:
    refused = await owner.call(method, path)
    assert (refused.status, refused.headers["allow"]) == (405, allowed)
    assert refused.json["detail"] == f"{method} is not allowed here; use {allowed}"


async def test_a_browser_is_led_to_signing_in(owner: Owner) -> None:
    asked = await owner.call("GET", "/jobs?q=x", headers=BROWSER, allow_redirects=False)
    assert (asked.status, asked.headers["location"]) == (303, "/sign-in?next_path=/jobs%3Fq%3Dx")
    page = await owner.call("GET", asked.headers["location"], headers=BROWSER)
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "matins sign-in" in page.text
