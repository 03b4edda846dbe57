"""The history of a job, and going back in it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from tests.api.served import DEPLOYS, JOBS, SPEC, Owner, Served, calling

from matins.store.agenda import PostgresAgenda
from matins.store.database import Database
from matins.store.leases import PostgresLeases

pytestmark = pytest.mark.asyncio(loop_scope="module")

JOB = f"{JOBS}/nightly"
REVISIONS = f"{JOB}/revisions"


async def history(owner: Owner, **query: object) -> list[tuple[Any, ...]]:
    page = (await owner.get(REVISIONS, **query)).json
    return [
        (
            revision["revision"],
            revision["author"],
            revision["reason"],
            revision["state"],
            revision["changes"],
        )
        for revision in page["revisions"]
    ]


async def test_a_history_tells_who_changed_what_and_why(owner: Owner, served: Served) -> None:
    await owner.job()
    async with calling(served.url, DEPLOYS) as deploys:
        await deploys.put(f"{JOB}?reason=release+7", SPEC | {"timeout": "9s", "priority": "high"})
        await deploys.post(f"{JOB}/pause", {"reason": "the vendor is down"})
    await owner.post(f"{JOB}/resume", {"reason": "it is up"})
    due = (await owner.get(JOB)).json["next_due_at"]
    await owner.put(f"{JOB}/overrides", {"due_at": due, "reason": "holiday"})
    await owner.delete(f"{JOB}/overrides/{due}?reason=worked")
    await owner.delete(f"{JOB}?reason=over")
    assert await history(owner) == [
        (7, "admin", "over", "deleted", ["deleted"]),
        (6, "admin", "worked", "active", ["overrides"]),
        (5, "admin", "holiday", "active", ["overrides"]),
        (4, "admin", "it is up", "active", ["resumed"]),
        (3, "deploys", "the vendor is down", "paused", ["paused"]),
        (2, "deploys", "release 7", "active", ["priority", "timeout"]),
        (1, "admin", "", "active", ["created"]),
    ]


async def test_a_history_comes_in_pages_which_tell_the_same(owner: Owner) -> None:
    for number in range(1, 6):
        await owner.job(timeout=f"{number}s")
    first = (await owner.get(REVISIONS, limit=2)).json
    rest = (await owner.get(REVISIONS, limit=9, before=first["next"])).json
    whole = (await owner.get(REVISIONS)).json
    assert first["revisions"] + rest["revisions"] == whole["revisions"]
    assert [revision["revision"] for revision in whole["revisions"]] == [5, 4, 3, 2, 1]
    assert (rest["next"], rest["kept_since"]) == (None, None)


async def test_one_revision_is_shown_with_what_the_job_was(owner: Owner) -> None:
    await owner.job(timeout="1s")
    await owner.job(timeout="2s")
    shown = (await owner.get(f"{REVISIONS}/1")).json
    assert shown["spec"] == SPEC | {"timeout": "1s"}
    for revision in (0, 3, 2**31):
        assert (await owner.get(f"{REVISIONS}/{revision}")).status == 404
    assert (await owner.get(f"{JOBS}/other/revisions")).status == 404


async def test_a_history_says_from_when_on_it_is_kept(owner: Owner, database: Database) -> None:
    for number in range(1, 4):
        await owner.job(timeout=f"{number}s")
    async with database.session() as session:
        await session.execute("DELETE FROM revisions WHERE revision = 1")
    page = (await owner.get(REVISIONS)).json
    assert page["kept_since"] == page["revisions"][-1]["at"]
    assert [revision["changes"] for revision in page["revisions"]] == [["timeout"], []]


async def test_old_revisions_have_an_unknown_author_and_unreadable_ones_a_fault(
    owner: Owner, database: Database
) -> None:
    await owner.job()
    async with database.session() as session:
        await session.execute(
            "UPDATE revisions SET changed_by = DEFAULT, spec = spec || '{\"newer\": 1}'"
        )
    [revision] = (await owner.get(REVISIONS)).json["revisions"]
    assert (revision["author"], revision["spec"]) == ("", None)
    assert "newer" in revision["fault"]
    refused = await owner.post(f"{JOB}/rollback", {"revision": 1})
    assert refused.status == 409


async def test_what_the_engine_changes_has_its_name(owner: Owner, database: Database) -> None:
    job = await owner.job()
    agenda = PostgresAgenda(database, database, PostgresLeases(database))
    await agenda.quarantine(UUID(job["id"]), 1, "its zone is gone")
    [row, _] = await history(owner)
    assert row == (2, "matins", "its zone is gone", "quarantined", ["quarantined"])


async def test_a_job_is_rolled_back(owner: Owner) -> None:
    await owner.job(timeout="1s")
    await owner.job(timeout="2s")
    told = await owner.post(f"{JOB}/rollback?dry_run=true", {"revision": 1})
    assert (told.json["change"], told.json["job"]["spec"]["timeout"]) == ("changed", "1s")
    assert (await owner.get(JOB)).json["revision"] == 2
    done = await owner.post(f"{JOB}/rollback", {"revision": 1, "reason": "2 s are too long"})
    assert (done.json["job"]["revision"], done.json["job"]["spec"]["timeout"]) == (3, "1s")
    assert (await history(owner))[0] == (3, "admin", "2 s are too long", "active", ["timeout"])
    assert (await owner.post(f"{JOB}/rollback", {"revision": 9})).status == 404
    assert (await owner.post(f"{JOB}/rollback", {})).places.keys() == {"revision"}


async def test_a_reason_is_not_too_long(owner: Owner) -> None:
    reason = "x" * 501
    replies = [
        await owner.put(f"{JOB}?reason={reason}", SPEC),
        await owner.post(f"{JOBS}?reason={reason}", SPEC),
        await owner.put(f"{JOBS}?reason={reason}", {"jobs": [SPEC]}),
    ]
    assert [(reply.status, list(reply.places)) for reply in replies] == [(422, ["reason"])] * 3
    assert (await owner.get(JOB)).status == 404
    await owner.job()
    for verb, body in (("pause", {}), ("resume", {}), ("rollback", {"revision": 1})):
        reply = await owner.post(f"{JOB}/{verb}", body | {"reason": reason})
        assert (reply.status, list(reply.places)) == (422, ["reason"])


async def test_a_pause_says_why_and_until_when(owner: Owner) -> None:
    await owner.job()
    until = "2099-01-01T00:00:00Z"
    paused = await owner.post(f"{JOB}/pause", {"reason": "why", "until": until, "missed": "last"})
    assert (paused.json["job"]["reason"], paused.json["job"]["paused_until"]) == ("why", until)
    [listed] = (await owner.get(JOBS)).json["jobs"]
    assert (listed["reason"], listed["paused_until"]) == ("why", until)
    past = await owner.post(f"{JOB}/pause", {"until": "2020-01-01T00:00:00Z"})
    assert (past.status, list(past.places)) == (422, ["until"])
    told = await owner.post(f"{JOB}/resume?dry_run=true")
    assert told.json["change"] == "resumed"
    assert (await owner.get(JOB)).json["state"] == "paused"
