"""The hot statements keep their indexes, whatever the statistics say."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import pytest

from matins.store.database import session_settings
from matins.store.queries import Query, load_queries

HOT = [
    *("agenda.sql:load", "claims.sql:claim", "claims.sql:claim_rest", "agenda.sql:advance"),
    *(
        "waiting.sql:load_waiting",
        "waiting.sql:ask_again",
        "waiting.sql:candidates",
        "manual.sql:cancel",
    ),
    *("manual.sql:retry_now", "manual.sql:stop_retrying"),
    *(
        "waiting.sql:carry_out",
        "dispatch.sql:dequeue",
        "dispatch.sql:record",
        "dispatch.sql:running_runs",
    ),
    *("dispatch.sql:which_recorded", "dispatch.sql:to_stop", "dispatch.sql:put_back"),
    *("dispatch.sql:abandoned_runs", "dispatch.sql:find_handout", "dispatch.sql:close_handouts"),
    *(
        "dispatch.sql:locked",
        "waiting.sql:open_runs",
        "waiting.sql:wake_waiting",
        "waiting.sql:record_open_since",
    ),
    "manual.sql:find_job",
    *("past.sql:newest_runs", "past.sql:run_counts"),
    *("recent.sql:recent_runs", "naming.sql:in_range"),
    *("zone_data.sql:jobs_ahead", "zone_data.sql:correct"),
    *("auto_delete.sql:ended_jobs", "changes.sql:has_unfinished_runs"),
    *("following.sql:ended_runs", "following.sql:write_follow_ups"),
    *("chains.sql:links", "chains.sql:links_again", "chains.sql:revive", "manual.sql:replay"),
    "status.sql:partitions",
    *("alerts.sql:wake_changed", "alerts.sql:wake_dead", "alerts.sql:due", "alerts.sql:lock"),
    "alerts.sql:newest_deaths",
    *(
        "alerts.sql:recent",
        "alerts.sql:standings",
        "alerts.sql:write",
        "alerts.sql:stand",
    ),
    *("outbox.sql:take", "outbox.sql:notices", "outbox.sql:record", "outbox.sql:purge"),
    *("replays.sql:proceed", "replays.sql:letters"),
    *("leases.sql:renew", "leases.sql:acquire", "leases.sql:release"),
]
LARGE = {
    *("jobs", "runs", "attempts", "dispatch", "waiting", "handouts", "dead_letters", "revisions"),
    *("watches", "alerts", "deliveries", "notices"),
}
"""Tables that grow; the others hold some hundred rows at most."""

BY_INDEX = ("Index Scan", "Index Only Scan", "Tid Scan")

FILES = (
    *(
        "agenda",
        "alerts",
        "auto_delete",
        "chains",
        "changes",
        "claims",
        "dispatch",
        "following",
        "leases",
        "manual",
    ),
    *("naming", "outbox", "past", "recent", "replays", "status", "waiting", "zone_data"),
)
QUERIES = {query.name: query for file in FILES for query in load_queries(f"{file}.sql").values()}


@pytest.fixture
async def session(schema_dsn: str) -> AsyncIterator[asyncpg.Connection]:
    """A session with the planner's settings of production, on tables that were never analyzed."""
    settings = session_settings("plans", by_key_only=True, deadline_s=10)
    session = await asyncpg.connect(schema_dsn, server_settings=settings)
    yield session
    await session.close()


@pytest.mark.parametrize("name", HOT)
async def test_no_large_table_is_read_whole(session: asyncpg.Connection, name: str) -> None:
    plan = await plan_of(session, QUERIES[name])
    for node in nodes(plan):
        table = re.sub(r"_\d{8}$", "", node.get("Relation Name", ""))
        if table in LARGE and node["Node Type"] != "ModifyTable":
            assert node["Node Type"] in BY_INDEX, node
            assert "Index Cond" in node or "TID Cond" in node, node
        assert node["Node Type"] not in ("Hash Join", "Merge Join", "Materialize"), node


async def test_only_runs_that_jobs_wait_for_are_looked_at_for_their_ends(
    session: asyncpg.Connection,
) -> None:
    plan = await plan_of(session, QUERIES["following.sql:ended_runs"])
    conditions = {node["Alias"]: node["Index Cond"] for node in nodes(plan) if "Index Cond" in node}
    assert "follows" in conditions.pop("j")
    assert all("job_id = j.id" in condition for condition in conditions.values())


@pytest.mark.parametrize("name", ["abandoned_runs", "emptied"])
async def test_executors_that_ended_and_hold_nothing_are_not_looked_at(
    session: asyncpg.Connection, name: str
) -> None:
    plan = await plan_of(session, QUERIES[f"dispatch.sql:{name}"])
    looks = [node for node in nodes(plan) if node.get("Relation Name") == "executors"]
    assert [look["Index Name"] for look in looks] == ["executors_to_empty"]


async def test_heartbeats_look_at_no_polls_beside_the_given_ranges(
    session: asyncpg.Connection,
) -> None:
    plan = await plan_of(session, QUERIES["dispatch.sql:put_back"])
    looks = [node for node in nodes(plan) if node.get("Relation Name") == "handouts"]
    conditions = [look["Index Cond"] for look in looks if "Index Cond" in look]
    assert len(conditions) == 2
    assert all("seq" in condition for condition in conditions)


async def plan_of(session: asyncpg.Connection, query: Query) -> dict[str, Any]:
    """Return the generic plan of a query: the one that production's sessions are bound to use."""
    await session.execute(f"PREPARE hot AS {query.sql}")
    nulls = ", ".join(["NULL"] * len(query.parameters))
    text = await session.fetchval(f"EXPLAIN (FORMAT JSON) EXECUTE hot({nulls})")
    plan: dict[str, Any] = json.loads(text)[0]["Plan"]
    return plan


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a plan's nodes."""
    yield plan
    for inner in plan.get("Plans", []):
        yield from nodes(inner)
