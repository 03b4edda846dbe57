"""How long owners wait for a page of a list, at its beginning and deep in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from statistics import median
from uuid import UUID

import asyncpg

from matins.domain.runs.states import RunState
from matins.domain.views import AuditPage, RunPage
from matins.kernel.clock import elapsed_s
from matins.store.audits import PostgresAudits
from matins.store.database import Database
from matins.store.reads import PostgresReads
from matins.store.timings import KnownCalendars

LARGE, SMALL = "large", "small"
DEPTH = 30
LIMIT = 100

_SPLIT = """
WITH teams_made AS (
    INSERT INTO teams (name, created_at) VALUES ('large', now()), ('small', now())
    RETURNING id, name
),
chosen AS (
    SELECT id, row_number() OVER () AS number FROM (SELECT id FROM jobs LIMIT $1) AS taken
)
UPDATE jobs
SET team_id = (
    SELECT id FROM teams_made WHERE name = CASE WHEN number <= 10 THEN 'small' ELSE 'large' END
)
FROM chosen
WHERE jobs.id = chosen.id
"""

_REVISIONS = """
INSERT INTO revisions (job_id, revision, partition, effective_at, state, anchor, spec)
SELECT id, revision, partition, changed_at, state, anchor, spec FROM jobs
"""

_DEAD = """
WITH dead AS (
    UPDATE past_runs SET state = 'dead' WHERE get_byte(uuid_send(id), 15) < 3 AND due_at >= $1
    RETURNING *
)
INSERT INTO dead_letters (run_id, due_at, job_id, team_id, dead_at, reason)
SELECT id, due_at, job_id, team_id, due_at, '' FROM dead
"""

_RETRYING = """
WITH failed AS (
    UPDATE runs SET state = 'retrying', retry_at = now() + interval '1 day', finished_at = NULL
    WHERE get_byte(uuid_send(id), 15) < 3 AND due_at < now()
    RETURNING *
)
INSERT INTO waiting (partition, ready_at, run_id, due_at, team_id, cause)
SELECT partition, retry_at, id, due_at, team_id, 'retry' FROM failed
"""

_QUEUED = """
WITH queued AS (
    UPDATE runs SET state = 'queued', finished_at = NULL
    WHERE get_byte(uuid_send(id), 15) = 3 AND due_at < now()
    RETURNING *
)
INSERT INTO dispatch (pool, rank, run_id, due_at)
SELECT pool, 1, id, due_at FROM queued
"""

_RUNNING = """
WITH running AS (
    UPDATE runs SET state = 'running', finished_at = NULL
    WHERE get_byte(uuid_send(id), 15) = 4 AND due_at < now()
    RETURNING *
)
INSERT INTO handouts (executor, seq, handed_at, run_ids)
SELECT executor, row_number() OVER (), now(), ARRAY[id] FROM running
"""


async def split_teams(session: asyncpg.Connection, jobs: int) -> None:
    """Give jobs to a team of ten and to a large one."""
    await session.execute(_SPLIT, jobs)
    await session.execute(_REVISIONS)


async def spoil(session: asyncpg.Connection, since: datetime) -> None:
    """Let one run in a hundred since then be dead, if its day is over, or retrying;
    some of the others are queued, or run."""
    await session.execute(_DEAD, since)
    for state in (_RETRYING, _QUEUED, _RUNNING):
        await session.execute(state)
    await session.execute("ANALYZE")


async def lists(dsn: str, now: datetime) -> None:
    """Print the milliseconds of each kind of page."""
    database = Database(dsn, name="lists", size=1)
    reads = PostgresReads(database)
    audits = PostgresAudits(database, KnownCalendars())
    since = now - timedelta(days=730)

    def runs(team: str | None, *states: RunState) -> Callable[[UUID | None], Awaitable[RunPage]]:
        return lambda before: reads.runs(team, states or list(RunState), since, before, LIMIT)

    def audit(team: str) -> Callable[[UUID | None], Awaitable[AuditPage]]:
        return lambda after: audits.page(team, None, now - timedelta(days=1), None, after)

    kinds: dict[str, Callable[[UUID | None], Awaitable[RunPage | AuditPage]]] = {
        "runs of all": runs(None),
        "retrying runs of all": runs(None, RunState.RETRYING),
        "dead runs of all": runs(None, RunState.DEAD),
        "queued runs of all": runs(None, RunState.QUEUED),
        "running runs of all": runs(None, RunState.RUNNING),
        "runs of a large team": runs(LARGE),
        "dead runs of a large team": runs(LARGE, RunState.DEAD),
        "retrying runs of a large team": runs(LARGE, RunState.RETRYING),
        "queued runs of a large team": runs(LARGE, RunState.QUEUED),
        "running runs of a large team": runs(LARGE, RunState.RUNNING),
        "queued runs of a team of ten jobs": runs(SMALL, RunState.QUEUED),
        "running runs of a team of ten jobs": runs(SMALL, RunState.RUNNING),
        "runs of a team of ten jobs": runs(SMALL),
        "audit of a team of ten jobs": audit(SMALL),
        "audit of a large team": audit(LARGE),
    }
    print(f"{'ms for a page':34}{'first':>8}{'deep':>8}{'worst':>8}")
    for name, page in kinds.items():
        spent = await _pages(page)
        print(f"{name:34}{spent[0]:8.1f}{median(spent[-5:]):8.1f}{max(spent):8.1f}")
    spent, after = [], ""
    for _ in range(DEPTH):
        begun = elapsed_s()
        listed = await reads.jobs(LARGE, after, LIMIT)
        spent.append((elapsed_s() - begun) * 1000)
        if listed.next is None:
            break
        after = str(listed.next)
    print(f"{'jobs of a large team':34}{spent[0]:8.1f}{median(spent[-5:]):8.1f}{max(spent):8.1f}")
    await database.close()


async def _pages(page: Callable[[UUID | None], Awaitable[RunPage | AuditPage]]) -> list[float]:
    """Milliseconds of the first pages, one after the other."""
    await page(None)
    spent, after = [], None
    for _ in range(DEPTH):
        begun = elapsed_s()
        after = (await page(after)).next
        spent.append((elapsed_s() - begun) * 1000)
        if after is None:
            break
    return spent
