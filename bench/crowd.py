"""The database of a large company: jobs of every kind, and what has become of their runs.

    python -m bench.crowd /tmp/folder [--jobs 100000] [--runs 5000000]

fills the PostgreSQL in that folder, and says how long that took. Everything is written by SQL,
several times as fast as the roles would.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from math import ceil
from pathlib import Path

import asyncpg
import uvloop

from bench import crowd_jobs
from bench.ground import postgres
from bench.history import retire
from matins.domain.runs.attempts import Result
from matins.domain.runs.fingerprint import failure_of
from matins.domain.runs.states import Outcome
from matins.kernel.clock import elapsed_s

FAST = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "max_wal_size": "16GB",
    "maintenance_work_mem": "1GB",
}
"""How PostgreSQL is run while it is filled."""

DAY = timedelta(days=1)
_SIDE_BY_SIDE = 2
_ERRORS = (
    *(
        "psycopg.OperationalError: connection to server failed: timeout expired",
        "java.lang.OutOfMemoryError: Java heap space",
        "requests.exceptions.ReadTimeout: read timed out after 30 s",
        "ERROR: duplicate key value violates unique constraint",
    ),
    *(
        "KeyError: 'currency'",
        "botocore.exceptions.ClientError: AccessDenied on PutObject",
        "429 Too Many Requests from the carrier's API",
        "AssertionError: 3 invoices have no customer",
    ),
)


async def fill(dsn: str, jobs: int, runs: int) -> None:
    """Make so many jobs, and about so many runs: as many days of them as it takes."""
    session = await asyncpg.connect(dsn)
    now: datetime = await session.fetchval("SELECT clock_timestamp()")
    runs_a_day = await crowd_jobs.fill(session, jobs, now)
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    days = [midnight - DAY * back for back in range(max(1, ceil(runs / runs_a_day)))]
    for day in days:
        await session.execute("SELECT ensure_day($1)", day.date())
    await session.execute("VACUUM ANALYZE jobs, paces, revisions, upstreams")
    gate = asyncio.Semaphore(_SIDE_BY_SIDE)
    await asyncio.gather(*[_fill_day(dsn, gate, day, now) for day in days])
    await _spoil(session)
    await session.execute("DROP TABLE paces")
    await session.close()
    await retire(dsn)
    session = await asyncpg.connect(dsn)
    await session.execute("VACUUM ANALYZE")
    await session.execute("CHECKPOINT")
    await session.close()


async def _fill_day(dsn: str, gate: asyncio.Semaphore, day: datetime, now: datetime) -> None:
    async with gate:
        session = await asyncpg.connect(dsn)
        for statement in (_RUNS, _ATTEMPTS):
            text = statement.format(day=f"{day:%Y%m%d}")
            if statement is _RUNS:
                await session.execute(text, day, min(day + DAY, now - timedelta(minutes=1)))
            else:
                await session.execute(text, *_errors())
        await session.close()


def _errors() -> tuple[Sequence[str], Sequence[str]]:
    """Return the outputs of failures, and their fingerprints."""
    prints = [
        failure_of(Result(Outcome.FAILED, "exit code 1", output=text, exit_code=1)).fingerprint
        for text in _ERRORS
    ]
    return _ERRORS, prints


async def _spoil(session: asyncpg.Connection) -> None:
    """Let the newest runs be in every other state, and write letters, backfills and the like."""
    for statement in (_LETTERS, _UNFINISHED, _WAITING, _QUEUE, _BACKFILLS, _CALENDARS, _WINDOWS):
        await session.execute(statement)


async def main(given: argparse.Namespace) -> None:
    """Fill, and print."""
    begun = elapsed_s()
    async with postgres(given.folder, FAST) as dsn:
        await fill(dsn, given.jobs, given.runs)
        session = await asyncpg.connect(dsn)
        counts = await session.fetchrow(COUNTS)
        await session.close()
    assert counts is not None
    told = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    print(f"{told} in {elapsed_s() - begun:.0f} s")


_RUNS = """
INSERT INTO runs_{day} (
    id, job_id, due_at, fire_at, claimed_at, started_at, finished_at, executor, epoch, team_id,
    attempt, partition, priority, kind, state, pool, reason, revision
)
SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '8000'
        || to_hex(8 + (dice * 4)::integer % 4) || left(md5(job_id::text || at::text), 15))::uuid,
       job_id, at, at, at + claim, CASE WHEN ran THEN at + claim + wait END,
       at + claim + CASE WHEN ran THEN wait + length ELSE '0 s' END,
       CASE WHEN ran THEN md5('executor ' || number % 40)::uuid END, 3, team_id,
       CASE state WHEN 'skipped' THEN 0 WHEN 'dead' THEN 3 ELSE CASE WHEN again THEN 2 ELSE 1 END
       END,
       partition, priority, kind, state, pool,
       CASE state WHEN 'skipped' THEN 'overlap: the run before is still running'
                  WHEN 'dead' THEN 'no attempts left: exit code 1' ELSE '' END, 1
FROM (
    SELECT p.*, at, dice, again, state, state <> 'skipped' AS ran,
           make_interval(secs => 0.005 + 0.03 * more) AS claim,
           make_interval(secs => 0.01 + 0.4 * more ^ 8 * 10) AS wait,
           make_interval(secs => length_s * (0.7 + 0.5 * dice + 2 * more ^ 16)) AS length
    FROM paces p
    CROSS JOIN LATERAL generate_series(
        $1::timestamptz + make_interval(secs => offset_s % period_s),
        $2::timestamptz - interval '1 us',
        make_interval(secs => period_s)
    ) AS at
    CROSS JOIN LATERAL (
        SELECT random() + 0 * extract(epoch FROM at) AS dice,
               random() + 0 * extract(epoch FROM at) AS more
        OFFSET 0
    ) AS d
    CROSS JOIN LATERAL (
        SELECT dice * 1000 BETWEEN dead AND dead + retried AS again,
               CASE WHEN dice * 1000 < dead THEN 'dead' WHEN more > 0.998 THEN 'skipped'
                    WHEN more > 0.9975 THEN 'cancelled' ELSE 'succeeded' END AS state
    ) AS s
) AS r
"""

_ATTEMPTS = """
INSERT INTO attempts_{day} (
    run_id, due_at, number, executor, started_at, finished_at, outcome, reason, exit_code, output,
    output_cut, fingerprint
)
SELECT id, due_at, n, executor, started_at + (n - 1) * length / attempt,
       started_at + n * length / attempt,
       CASE WHEN failed THEN 'failed' ELSE state END,
       CASE WHEN failed THEN 'exit code 1' ELSE '' END, failed::integer,
       'reading the source' || E'\\n' || get_byte(uuid_send(id), 15) * 40 || ' rows of '
       || pool || E' read\\n' || CASE WHEN failed THEN ($1::text[])[error] ELSE 'done' END,
       0, CASE WHEN failed THEN ($2::text[])[error] END
FROM (
    SELECT *, finished_at - started_at AS length, 1 + get_byte(uuid_send(job_id), 3) % 8 AS error
    FROM runs_{day}
    WHERE attempt > 0
) AS r
CROSS JOIN LATERAL generate_series(1, attempt) AS n
CROSS JOIN LATERAL (SELECT n < attempt OR state = 'dead' AS failed) AS f
"""

_LETTERS = """
INSERT INTO dead_letters (
    run_id, due_at, job_id, team_id, dead_at, reason, error, fingerprint, dismissed_at,
    dismissed_by, note
)
SELECT r.id, r.due_at, r.job_id, r.team_id, r.finished_at, r.reason,
       a.reason || ': ' || split_part(a.output, E'\\n', 3), a.fingerprint,
       CASE WHEN get_byte(uuid_send(r.id), 14) < 200 THEN r.finished_at + interval '1 hour' END,
       CASE WHEN get_byte(uuid_send(r.id), 14) < 200 THEN 'admin' ELSE '' END, ''
FROM runs r
JOIN attempts a ON a.run_id = r.id AND a.due_at = r.due_at AND a.number = r.attempt
WHERE r.state = 'dead'
"""

_UNFINISHED = """
WITH newest AS (
    SELECT id, due_at, row_number() OVER () AS n
    FROM (
        SELECT id, due_at
        FROM runs
        WHERE due_at > clock_timestamp() - interval '10 minutes' AND state = 'succeeded'
        LIMIT 4000
    ) AS late
)
UPDATE runs r
SET state = CASE WHEN n < 500 THEN 'running' WHEN n < 800 THEN 'retrying'
                 WHEN n < 1600 THEN 'waiting' ELSE 'queued' END,
    finished_at = NULL,
    retry_at = CASE WHEN n BETWEEN 500 AND 799 THEN clock_timestamp() + interval '5 minutes' END,
    started_at = CASE WHEN n < 800 THEN started_at END,
    rank = rank_at(r.due_at, r.priority),
    reason = CASE WHEN n BETWEEN 500 AND 799 THEN 'exit code 1'
                  WHEN n BETWEEN 800 AND 1599 THEN 'the run before is still running' ELSE '' END
FROM newest
WHERE r.id = newest.id AND r.due_at = newest.due_at
"""

_WAITING = """
INSERT INTO waiting (partition, ready_at, run_id, due_at, team_id, cause, blocker)
SELECT partition, coalesce(retry_at, 'infinity'), id, due_at, team_id,
       CASE state WHEN 'retrying' THEN 'retry' ELSE 'overlap' END,
       CASE state WHEN 'waiting' THEN job_id::text END
FROM runs
WHERE state IN ('retrying', 'waiting')
"""

_QUEUE = """
INSERT INTO dispatch (pool, rank, run_id, due_at)
SELECT pool, rank, id, due_at FROM runs WHERE state = 'queued'
"""

_BACKFILLS = """
INSERT INTO backfills (
    id, job_id, team_id, partition, state, since, until, "order", run_limit, again, reason, made_at,
    finished_at, mark, walked, planned, made, succeeded, dead, rated_at
)
SELECT md5('backfill ' || number)::uuid, job_id, team_id, partition,
       CASE number % 3 WHEN 0 THEN 'active' WHEN 1 THEN 'paused' ELSE 'done' END,
       clock_timestamp() - interval '9 days', clock_timestamp() - interval '2 days', 'oldest', 2,
       false, 'the source was wrong', clock_timestamp() - interval '1 hour',
       CASE number % 3 WHEN 2 THEN clock_timestamp() END, clock_timestamp() - interval '1 hour',
       number % 3 = 2, 168, 90, 80, 2, clock_timestamp() - interval '1 hour'
FROM paces
WHERE number % 1000 = 500 AND period_s = 3600
"""

_CALENDARS = """
INSERT INTO calendars (team_id, name, written, resolved, made_at)
SELECT id, name || '-' || what, body, body, created_at
FROM teams
CROSS JOIN unnest(ARRAY['holidays', 'freeze']) AS what
CROSS JOIN LATERAL (
    SELECT jsonb_build_object(
        'name', name || '-' || what, 'exclude', '[{"dates": "12-24/12-26"}]'::jsonb
    ) AS body
) AS b
"""

_WINDOWS = """
INSERT INTO windows (team_id, name, policy, labels, starts_at, ends_at, reason, made_at)
SELECT id, what, policy, '{"tier": "gold"}', clock_timestamp() + ahead,
       clock_timestamp() + ahead + interval '2 hours', 'the database is moved', clock_timestamp()
FROM teams
CROSS JOIN (
    VALUES ('move', 'hold', interval '5 hours'), ('audit', 'skip', interval '-3 days')
) AS w (what, policy, ahead)
"""

COUNTS = """
SELECT (SELECT count(*) FROM jobs) AS jobs, (SELECT count(*) FROM all_runs) AS runs,
       (SELECT count(*) FROM all_attempts) AS attempts,
       (SELECT count(*) FROM dead_letters) AS letters
"""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=5_000_000)
    uvloop.run(main(parser.parse_args()))
