"""What must hold after the turmoil, beside what the history checker finds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any

import asyncpg
from tests.e2e.cluster import Cluster
from tests.e2e.turmoil.owner import Span, WindowSpan

from matins.testing.calls import Call

UNDER_WAY = timedelta(seconds=0.5)
"""A claim that was under way when something was acknowledged may not know of it."""

ON_THE_QUEUE = timedelta(seconds=2)
"""A retry that was on the queue when a window was acknowledged begins within this."""

RUNS = """
SELECT r.*, j.name, j.spec -> 'schedule' ->> 'after' AS after,
       j.spec -> 'labels' ->> 'tier' AS tier,
       (SELECT min(a.started_at) FROM attempts a WHERE a.run_id = r.id) AS first_started_at
FROM runs r
JOIN jobs j ON j.id = r.job_id
ORDER BY r.job_id, r.due_at
"""
RETRIES = """
SELECT a.started_at, j.name, j.spec -> 'labels' ->> 'tier' AS tier
FROM attempts a
JOIN runs r ON r.id = a.run_id AND r.due_at = a.due_at
JOIN jobs j ON j.id = r.job_id
WHERE a.number > 1 AND r.kind = 'scheduled'
"""

Rows = Sequence[asyncpg.Record]


async def all_runs(cluster: Cluster) -> Rows:
    """Return all runs with their jobs, in the order of jobs and due times."""
    return await cluster.rows(RUNS)


async def all_retries(cluster: Cluster) -> Rows:
    """Return when each attempt began that was not the first of its run."""
    return await cluster.rows(RETRIES)


def broken_audits(audits: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Every due time has its row, every row its due time, and every job can be computed."""
    for audit in audits:
        if (
            audit["missing_count"]
            or audit["unexpected_count"]
            or audit["doubled_count"]
            or audit["fault"]
        ):
            yield f"audit: {audit}"


def overlapping_chains(rows: Rows) -> Iterator[str]:
    """A scheduled run of a job that follows ends is claimed after the one before it has
    ended.
    """
    chained = (row for row in rows if row["after"] == "end" and row["kind"] == "scheduled")
    for before, run in pairwise(chained):
        if before["job_id"] != run["job_id"]:
            continue
        if before["finished_at"] is None or before["finished_at"] > run["claimed_at"]:
            yield f"{_name(run)} was claimed before the end of {_name(before)}"


def runs_in_windows(rows: Rows, windows: Iterable[WindowSpan]) -> Iterator[str]:
    """What a scheduler claims in a window that was acknowledged does not begin in it."""
    for window in windows:
        for row in _claimed(rows):
            if not _is_meant(row, window):
                continue
            if not window.since + UNDER_WAY <= row["claimed_at"] < window.until:
                continue
            started_at = row["first_started_at"]
            if window.policy == "skip" and row["state"] != "skipped":
                yield f"{_name(row)} was to be skipped by {window}"
            elif started_at is not None and started_at < window.until:
                yield f"{_name(row)} began within {window}"


def retries_in_windows(retries: Rows, windows: Iterable[WindowSpan]) -> Iterator[str]:
    """A retry does not begin within a window that holds."""
    for window in (window for window in windows if window.policy == "hold"):
        for retry in retries:
            begins = window.since + ON_THE_QUEUE <= retry["started_at"] < window.until
            if begins and _is_meant(retry, window):
                yield f"a retry of {retry['name']} began at {retry['started_at']} within {window}"


def claims_of_stopped(rows: Rows, stops: Mapping[str, Iterable[Span]]) -> Iterator[str]:
    """No scheduler claims anything of a job that is paused or deleted."""
    for row in _claimed(rows):
        for since, until in stops.get(row["name"], []):
            is_late = since + UNDER_WAY <= row["claimed_at"]
            if is_late and (until is None or row["claimed_at"] < until):
                yield f"{_name(row)} was stopped from {since} until {until}"


def calls_of_skipped(calls: Iterable[Call], rows: Rows) -> Iterator[str]:
    """What was skipped was never called, and each call has its run."""
    known = {row["id"]: row for row in rows}
    for call in calls:
        row = known.get(call.run_id)
        if row is None:
            yield f"a call of {call.job} due at {call.due_at} has no run"
        elif row["state"] == "skipped":
            yield f"{_name(row)} was called"


def _claimed(rows: Rows) -> Iterator[asyncpg.Record]:
    """Return what schedulers claimed: neither triggered, nor put on record by an owner's change."""
    return (row for row in rows if row["kind"] == "scheduled" and row["epoch"])


def _is_meant(row: asyncpg.Record, window: WindowSpan) -> bool:
    return not window.labels or window.labels["tier"] == row["tier"]


def _name(row: asyncpg.Record) -> str:
    """Return a run, for people."""
    what = f"{row['name']} due at {row['due_at']} ({row['kind']}, {row['state']} {row['reason']})"
    return f"{what}, claimed at {row['claimed_at']}"
