"""Bad input gets one clear answer that names the place, and stores nothing."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import Any
from uuid import UUID

import msgspec
import pytest
from structlog.testing import capture_logs
from tests.api.served import JOBS, SPEC, TOKEN, Owner, Served

from matins.store.database import Database

TARGET = SPEC["target"]


pytestmark = pytest.mark.asyncio(loop_scope="module")


def with_schedule(**given: object) -> dict[str, Any]:
    return SPEC | {"schedule": given}


BAD_JOBS: dict[str, tuple[dict[str, Any], str, str]] = {
    "unknown field": (SPEC | {"cron": "* * * * *"}, "cron", "is not known here"),
    "unknown inner field": (
        with_schedule(cron="@daily", zone="UTC"),
        "schedule.zone",
        "did you mean timezone",
    ),
    "misspelt field": (SPEC | {"prioritty": "high"}, "prioritty", "did you mean priority"),
    "missing target": ({"name": "nightly"}, "target", "is missing"),
    "two targets": (
        SPEC | {"target": TARGET | {"command": {"argv": ["true"]}}},
        "target",
        "exactly one of",
    ),
    "wrong type": (SPEC | {"labels": ["gold"]}, "labels", "is a list; it must be a mapping"),
    "a number as text": (SPEC | {"retry": {"attempts": "5"}}, "retry.attempts", "whole number"),
    "unknown choice": (SPEC | {"priority": "urgent"}, "priority", "high, low, normal"),
    "bad cron": (with_schedule(cron="61 * * * *"), "schedule.cron", "61"),
    "a date that never comes": (with_schedule(cron="0 0 30 2 *"), "schedule.cron", ""),
    "two kinds of schedule": (
        with_schedule(cron="@daily", every="1h"),
        "schedule.cron",
        "exactly one",
    ),
    "unknown zone": (
        with_schedule(cron="@daily", timezone="Europe/Berln"),
        "schedule.timezone",
        "Europe/Berlin",
    ),
    "negative duration": (SPEC | {"timeout": "-5m"}, "timeout", "negative"),
    "unreadable duration": (with_schedule(every="soon"), "schedule.every", "15m"),
    "too many attempts": (SPEC | {"retry": {"attempts": 1000}}, "retry.attempts", "from 1 to 100"),
    "bad pool": (SPEC | {"pool": "a/b"}, "pool", "can't be a name"),
    "bad URL": (SPEC | {"target": {"http": {"url": "ftp://x"}}}, "target.http.url", "https"),
    "NUL in a text": (SPEC | {"description": "a\0b"}, "description", "NUL"),
    "NUL deep inside": (
        SPEC | {"target": {"http": {"url": "http://x", "body": {"a": ["\0"]}}}},
        "target.http.body.a[0]",
        "NUL",
    ),
    "NUL in a key": (SPEC | {"labels": {"a\0": "b"}}, "labels (a key)", "NUL"),
}


@pytest.mark.parametrize(("spec", "where", "message"), BAD_JOBS.values(), ids=BAD_JOBS)
async def test_a_bad_job_is_refused_where_it_is_wrong(
    owner: Owner, database: Database, spec: dict[str, Any], where: str, message: str
) -> None:
    for reply in (await owner.post(JOBS, spec), await owner.put(f"{JOBS}/nightly", spec)):
        assert reply.status == 422, reply.text
        assert where in reply.places, reply.places
        assert message in reply.places[where]
        assert reply.json["type"] == "urn:matins:problem:invalid-input"
        assert reply.headers["content-type"] == "application/problem+json"
    await nothing_is_stored(database)


GOOD = msgspec.json.encode(SPEC).decode()
BAD_BODIES: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "is empty"),
    "no JSON": (b"name: nightly", "is not JSON"),
    "JSON that breaks off": (GOOD[:-1].encode(), "is not JSON"),
    "something after it": (GOOD.encode() + b" x", "is not JSON"),
    "null": (b"null", "is empty; it must be a mapping"),
    "a list": (b"[" + GOOD.encode() + b"]", "is a list; it must be a mapping"),
    "NaN": (GOOD.replace('"nightly"', "NaN").encode(), ""),
    "a number beyond all bounds": (
        b'{"name":"a","target":{"http":{"url":"http://x","body":{"a":1e999}}}}',
        "out of range",
    ),
    "half of a surrogate pair": (GOOD.replace("nightly", "\\ud800").encode(), "surrogate"),
    "no UTF-8": (GOOD.replace("nightly", "n\xff").encode("latin-1"), "UTF-8"),
    "a raw NUL": (GOOD.replace("nightly", "n\0").encode(), ""),
    "deep nesting": (
        b'{"name":"a","target":{"http":{"url":"http://x","body":'
        + b"[" * 100
        + b"]" * 100
        + b"}}}",
        "deeper",
    ),
    "very deep nesting": (b"[" * 100_000 + b"]" * 100_000, "deeper"),
    "very deep nesting that breaks off": (b'{"a":' * 900, ""),
}


@pytest.mark.parametrize(("body", "message"), BAD_BODIES.values(), ids=BAD_BODIES)
async def test_a_body_that_cannot_be_read_is_refused(
    owner: Owner, database: Database, body: bytes, message: str
) -> None:
    for method, path in (("POST", JOBS), ("PUT", f"{JOBS}/nightly")):
        reply = await owner.call(method, path, data=body)
        assert reply.status == 422, reply.text
        assert len(reply.json["errors"]) == 1
        assert message in reply.json["detail"]
    await nothing_is_stored(database)


@pytest.mark.parametrize("size", [1024 * 1024 + 1, 8 * 1024 * 1024])
async def test_a_huge_body_is_refused(owner: Owner, database: Database, size: int) -> None:
    reply = await owner.call("POST", JOBS, data=BytesIO(b'"' + b"x" * size + b'"'))
    assert reply.status == 413
    assert "1048576" in reply.json["detail"]
    await nothing_is_stored(database)


async def test_a_body_of_unknown_length_is_refused_when_it_becomes_huge(owner: Owner) -> None:
    async def pieces() -> Any:
        for _ in range(20):
            yield b"x" * 65536

    reply = await owner.call("POST", JOBS, data=pieces())
    assert reply.status == 413


async def test_a_client_that_hangs_up_in_its_request_is_no_error_of_ours(
    served: Served, database: Database
) -> None:
    body = msgspec.json.encode(SPEC)
    coming: Iterator[dict[str, Any]] = iter(
        [
            {"type": "http.request", "body": body[:20], "more_body": True},
            {"type": "http.disconnect"},
        ]
    )

    async def receive() -> dict[str, Any]:
        return next(coming)

    async def send(message: Any) -> None:
        del message  # nobody is there

    headers = [(b"authorization", f"Bearer {TOKEN}".encode()), (b"content-length", b"999")]
    scope = {
        "type": "http",
        "method": "POST",
        "path": JOBS,
        "query_string": b"",
        "headers": headers,
    }
    with capture_logs() as logs:
        await served.app(scope, receive, send)
    assert [log for log in logs if log["log_level"] in ("warning", "error")] == []
    await nothing_is_stored(database)


BAD_PATHS = [
    ("GET", "/v1/teams/Pay%20ments/jobs", "team"),
    ("GET", "/v1/teams/a%00b/jobs", "team"),
    ("GET", "/v1/teams/%ff/jobs", "team"),
    ("GET", f"{JOBS}/a%00b", "name"),
    ("POST", f"{JOBS}/UPPER/pause", "name"),
    ("POST", f"{JOBS}/UPPER/trigger", "name"),
    ("GET", f"{JOBS}?limit=0", "limit"),
    ("GET", f"{JOBS}?limit=ten", "limit"),
    ("GET", f"{JOBS}?after=a%00", "after"),
    ("GET", "/v1/runs?state=finished", "state"),
    ("GET", "/v1/runs?status=dead", "status"),
    ("GET", "/v1/executors?team=a", "team"),
    ("GET", "/v1/runs?team=a%00b", "team"),
    ("GET", "/v1/runs?before=yesterday", "before"),
    ("GET", f"/v1/runs?before={UUID(int=(1 << 128) - 1)}", "before"),
    ("GET", "/v1/runs?since=2026-01-01T00:00:00", "since"),
    ("GET", "/v1/runs?since=yesterday", "since"),
    ("GET", "/v1/audit?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z", "since"),
    ("GET", "/v1/runs?since=0001-01-01T00:00:00%2B14:00", "since"),
    ("GET", "/v1/runs?since=9999-12-31T23:59:59-14:00", "since"),
    ("GET", f"{JOBS}/nightly/preview?after=0001-01-01T00:00:00%2B14:00", "after"),
    ("GET", "/v1/audit?until=2026-01-01T00:00:00", "until"),
    ("GET", "/v1/audit?until=0001-01-01T00:00:00Z", "since"),
    ("GET", "/v1/audit?since=0001-01-01T00:00:00%2B14:00", "since"),
    ("GET", "/v1/audit?job=nightly", "team"),
    ("GET", "/v1/audit?team=A", "team"),
]


@pytest.mark.parametrize(("method", "path", "where"), BAD_PATHS, ids=lambda value: str(value)[:40])
async def test_a_bad_parameter_is_named(owner: Owner, method: str, path: str, where: str) -> None:
    reply = await owner.call(method, path)
    assert reply.status == 422, reply.text
    assert list(reply.places) == [where]


async def test_an_audit_may_be_asked_to_begin_before_any_due_time(owner: Owner) -> None:
    page = (await owner.get("/v1/audit", since="0001-01-01T00:00:00Z")).json
    assert page["since"] == "1970-01-01T00:00:00Z"


async def test_an_occurrence_is_not_moved_beyond_the_last_year(owner: Owner) -> None:
    await owner.put(f"{JOBS}/nightly", SPEC)
    moved = {"due_at": "2030-12-12T01:00:00Z", "move_to": "9999-12-31T23:59:59-14:00"}
    reply = await owner.put(f"{JOBS}/nightly/overrides", moved)
    assert (reply.status, list(reply.places)) == (422, ["move_to"])


async def test_a_bad_name_is_refused(owner: Owner, database: Database) -> None:
    reply = await owner.post(JOBS, SPEC | {"name": "Nightly Run"})
    assert (reply.status, list(reply.places)) == (422, ["name"])
    await nothing_is_stored(database)


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"schedule": {"cron": "nope"}}, "schedule.cron"),
        ({"schedule": {"cron": "@daily"}, "count": 0}, "count"),
        ({"schedule": {"cron": "@daily"}, "after": "soon"}, "after"),
        ({"schedule": {"cron": "@daily"}, "after": "9999-12-31T23:59:59Z", "count": 1001}, "count"),
        ({}, "schedule"),
    ],
)
async def test_a_bad_preview_says_what_is_wrong(owner: Owner, body: object, where: str) -> None:
    reply = await owner.post("/v1/preview", body)
    assert (reply.status, list(reply.places)) == (422, [where])


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", f"{JOBS}/nightly"),
        ("DELETE", f"{JOBS}/nightly"),
        ("POST", f"{JOBS}/nightly/pause"),
        ("POST", f"{JOBS}/nightly/resume"),
        ("POST", f"{JOBS}/nightly/trigger"),
        ("GET", f"{JOBS}/nightly/runs"),
        ("GET", f"/v1/runs/{UUID(int=7)}"),
        ("GET", f"/v1/runs/{UUID(int=(1 << 128) - 1)}"),
        ("GET", f"/v1/runs/{UUID(int=7)}/attempts"),
        ("GET", f"/v1/runs/{UUID(int=(1 << 128) - 1)}/attempts"),
        ("POST", f"/v1/runs/{UUID(int=7)}/cancel"),
        ("GET", "/v1/runs/not-a-run"),
        ("GET", "/v1/nothing"),
        ("GET", "/nothing"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_what_is_not_there_is_a_problem_too(owner: Owner, method: str, path: str) -> None:
    reply = await owner.call(method, path)
    assert reply.status == 404
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.json["title"]


async def test_a_wrong_method_is_a_problem_too(owner: Owner) -> None:
    reply = await owner.call("PATCH", f"{JOBS}/nightly")
    assert (reply.status, reply.json["status"]) == (405, 405)


async def nothing_is_stored(database: Database) -> None:
    async with database.session() as session:
        for table in ("teams", "jobs", "revisions", "runs"):
            assert await session.fetchval(f"SELECT count(*) FROM {table}") == 0, table
