"""What has become of the company's runs up to now, written as the roles would have written it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from math import pi, sin
from random import Random
from typing import NamedTuple
from uuid import UUID, uuid5

import asyncpg
import msgspec
from tests.web.company.habits import DAY, Habit, habit_of

from matins.domain.jobs.spec import PRIORITIES, JobSpec
from matins.domain.runs.attempts import Result
from matins.domain.runs.fingerprint import failure_of
from matins.domain.runs.states import Outcome
from matins.domain.status.tallies import LAG_BOUNDS_S
from matins.domain.timetables.compiling import compile_schedule
from matins.domain.values.ids import run_id

_MOST = 3_000
"""The most due times of a job that are looked at."""

_LATELY = timedelta(minutes=3)
_CROWDED_MS = 400
"""What a start may wait longer for at a full quarter of an hour, when much is due."""

_EXECUTORS = 4
_EXECUTOR = UUID("5f0e6c1d-0000-4000-8000-000000000000")

_RUN = (
    *("id", "job_id", "due_at", "fire_at", "claimed_at", "started_at", "finished_at", "executor"),
    *("epoch", "team_id", "attempt", "partition", "priority", "kind", "state", "pool", "reason"),
    "revision",
)
_ATTEMPT = (
    *("run_id", "due_at", "number", "executor", "started_at", "finished_at", "outcome", "reason"),
    *("exit_code", "http_status", "output", "output_cut", "fingerprint"),
)
_LETTER = ("run_id", "due_at", "job_id", "team_id", "dead_at", "reason", "error", "fingerprint")


class _Job(NamedTuple):
    id: UUID
    team_id: int
    partition: int
    spec: JobSpec

    @property
    def habit(self) -> Habit:
        """How its runs go."""
        return habit_of(self.spec.name)


class _Due(NamedTuple):
    """A due time, when it is claimed, and why it is skipped, if it is."""

    at: datetime
    claim_at: datetime
    skipped: str


class _End(NamedTuple):
    """How a run ended, and when."""

    state: str
    at: datetime


class _Past(NamedTuple):
    """Rows of tables."""

    runs: list[tuple[object, ...]]
    attempts: list[tuple[object, ...]]
    letters: list[tuple[object, ...]]


async def write_past(dsn: str, age: timedelta) -> None:
    """Write runs of all jobs, as if each had been there for so long. No scheduler may run yet."""
    session = await asyncpg.connect(dsn)
    try:
        await _write_all(session, age)
    finally:
        await session.close()


async def write_tallies(dsn: str, since: datetime) -> None:
    """Write what was counted in each minute of the last day: by the runs, up to that instant.

    In the minutes since then roles have made up for what nobody had claimed: they are told as those
    of an hour before.
    """
    session = await asyncpg.connect(dsn)
    try:
        begun = since.replace(second=0, microsecond=0) - _LATELY - timedelta(minutes=1)
        bounds = [timedelta(seconds=bound) for bound in LAG_BOUNDS_S]
        await session.execute("DELETE FROM tallies")
        await session.execute(_TALLIES, begun - DAY, begun, bounds)
        await session.execute(_LIKE_BEFORE, begun)
    finally:
        await session.close()


async def _write_all(session: asyncpg.Connection, age: timedelta) -> None:
    now: datetime = await session.fetchval("SELECT clock_timestamp()")
    rows = await session.fetch(
        "SELECT id, team_id, partition, spec::text AS spec FROM jobs ORDER BY name"
    )
    jobs = [
        _Job(job_id, team_id, partition, msgspec.json.decode(spec, type=JobSpec))
        for job_id, team_id, partition, spec in rows
    ]
    past = _Past([], [], [])
    ended: dict[str, dict[datetime, _End]] = {}
    rng = Random(11)
    for job in _leaders_first(jobs):
        ended[job.spec.name] = {
            due.at: _write(past, rng, job, due, now) for due in _due(job, now, now - age, ended)
        }
    for back in range(age.days + 1):
        await session.execute("SELECT ensure_day($1)", (now - DAY * back).date())
    for table, columns, records in (
        ("runs", _RUN, past.runs),
        ("attempts", _ATTEMPT, past.attempts),
        ("dead_letters", _LETTER, past.letters),
    ):
        await session.copy_records_to_table(table, records=records, columns=columns)
    names = [(_executor_id(number), f"fra-{number + 1}") for number in range(_EXECUTORS)]
    await session.executemany(_GONE, names)
    await session.execute(_OLDER, age)
    await session.execute(_OLDER_TEAMS, age)
    await session.execute("ANALYZE")


def _leaders_first(jobs: Sequence[_Job]) -> Iterator[_Job]:
    done: set[str] = set()
    left = [job for job in jobs if job.spec.schedule is not None]
    while left:
        for job in [job for job in left if done.issuperset(job.spec.upstream)]:
            done.add(job.spec.name)
            left.remove(job)
            yield job


def _due(
    job: _Job, now: datetime, founded: datetime, ended: dict[str, dict[datetime, _End]]
) -> Iterator[_Due]:
    """Yield the due times of a job that lie behind."""
    schedule = job.spec.schedule
    assert schedule is not None
    if schedule.chain is None:
        table = compile_schedule(schedule, seed=str(job.id), anchor=founded)
        often = len(table.due_between(now - DAY, now, _MOST))
        since = max(founded, now - DAY * job.habit.known / max(often, 1))
        for due in table.due_between(since, now - _LATELY, _MOST):
            yield _Due(due, due, table.skip_reason(int(due.timestamp())))
        return
    leader = schedule.chain.jobs[0]
    wanted = {"all_success": "succeeded", "any_failure": "dead"}.get(schedule.chain.when)
    for due, end in ended[leader].items():
        is_met = wanted in (None, end.state)
        yield _Due(due, end.at, "" if is_met else f"upstream job {leader} ended {end.state}")


def _write(past: _Past, rng: Random, job: _Job, due: _Due, now: datetime) -> _End:
    """Write a run with its attempts, and what it left; return how it ended."""
    spec, age = job.spec, now - due.at
    kind = "chained" if spec.upstream else "scheduled"
    name = run_id(job.id, due.at, kind)
    claimed = due.claim_at + timedelta(milliseconds=rng.uniform(4, 30))
    state, tries = ("skipped", 0) if due.skipped else _fate(rng, job, age)
    crowd = _CROWDED_MS * rng.random() ** 2 * (due.claim_at.minute % 15 == 0)
    started = at = claimed + timedelta(milliseconds=8 + rng.expovariate(1 / 40) + crowd)
    executor = _executor(rng)
    for number in range(1, tries + 1):
        failed = number < tries or state == "dead"
        result = _result(job, failed=failed)
        begun = at + timedelta(seconds=5 * (number > 1))
        at = begun + _length(rng, job.habit, age, failed=failed)
        past.attempts.append(
            (
                *(name, due.at, number, executor, begun, at, result.outcome.value, result.reason),
                *(result.exit_code, result.http_status, result.output, 0),
                failure_of(result).fingerprint or None,
            )
        )
    reason = due.skipped
    if state == "dead":
        failure = failure_of(_result(job, failed=True))
        reason = f"no attempts left: {failure.error.partition(':')[0]}"
        letter = (name, due.at, job.id, job.team_id, at, reason)
        past.letters.append((*letter, failure.error, failure.fingerprint))
    ran = (started, at, executor) if tries else (None, claimed, None)
    past.runs.append(
        (
            *(name, job.id, due.at, due.at, claimed, *ran, 1, job.team_id, tries, job.partition),
            *(PRIORITIES[spec.priority], kind, state, spec.pool, reason, 1),
        )
    )
    return _End(state, at)


def _fate(rng: Random, job: _Job, age: timedelta) -> tuple[str, int]:
    """Return the state in which a run ends, and after how many attempts."""
    habit, tries = job.habit, job.spec.retrying.attempts or 1
    dice = rng.uniform(0, 1_000)
    if (habit.broken and age < habit.broken) or dice < habit.dead:
        return "dead", tries
    return "succeeded", 2 if tries > 1 and dice < habit.dead + habit.retried else 1


def _length(rng: Random, habit: Habit, age: timedelta, *, failed: bool) -> timedelta:
    """Longer at noon than at night, a little longer each day, and now and then far longer."""
    days = age / DAY
    length = habit.length_s * (1 - habit.growth * days) * (1 + 0.15 * sin(2 * pi * days))
    length *= rng.gauss(1, 0.06) + (rng.random() > 0.985) * 0.9
    return timedelta(seconds=max(0.1, length * (rng.uniform(0.05, 0.4) if failed else 1)))


def _result(job: _Job, *, failed: bool) -> Result:
    habit = job.habit
    text = f"{habit.output or job.spec.name}\n{habit.error if failed else 'done'}\n"
    outcome = Outcome.FAILED if failed else Outcome.SUCCEEDED
    if job.spec.target.kind == "http":
        reason, status = ("HTTP status 500", 500) if failed else ("", 200)
        return Result(outcome, reason, output=text, http_status=status)
    reason = "exit code 1" if failed else ""
    return Result(outcome, reason, output=text, exit_code=int(failed))


def _executor(rng: Random) -> UUID:
    return _executor_id(rng.randrange(_EXECUTORS))


def _executor_id(number: int) -> UUID:
    return uuid5(_EXECUTOR, str(number))


_GONE = """
INSERT INTO executors (
    id, name, pools, slots, partition, first_heartbeat_at, heartbeat_at, first_seq, ended_at,
    stopped, is_empty
) VALUES (
    $1, $2, '{default,batch,gpu}', 100, 0, now() - interval '40 days', now() - interval '3 days', 1,
    now() - interval '3 days', true, true
)
"""
"""Executors of before: a restarted one has another id."""

_OLDER = """
WITH older AS (
    UPDATE jobs
    SET created_at = created_at - $1::interval, changed_at = changed_at - $1,
        anchor = anchor - $1, since = since - $1
    RETURNING id
)
UPDATE revisions r
SET effective_at = effective_at - $1, anchor = anchor - $1, since = since - $1
FROM older
WHERE r.job_id = older.id
"""

_OLDER_TEAMS = "UPDATE teams SET created_at = created_at - $1::interval"

_TALLIES = """
WITH happened AS (
    SELECT date_trunc('minute', claimed_at) AS minute, (state <> 'skipped')::int AS claimed,
           (state = 'skipped')::int AS skipped, 0 AS started, 0 AS failed, 0 AS succeeded,
           0 AS dead, NULL::interval AS lag
    FROM runs WHERE claimed_at >= $1 AND claimed_at < $2
    UNION ALL
    SELECT date_trunc('minute', a.started_at), 0, 0, 1, 0, 0, 0,
           CASE WHEN a.number = 1 THEN a.started_at - r.claimed_at + interval '15 ms' END
    FROM attempts a JOIN runs r ON r.id = a.run_id AND r.due_at = a.due_at
    WHERE a.started_at >= $1 AND a.started_at < $2
    UNION ALL
    SELECT date_trunc('minute', finished_at), 0, 0, 0, (outcome <> 'succeeded')::int,
           (outcome = 'succeeded')::int, 0, NULL
    FROM attempts WHERE finished_at >= $1 AND finished_at < $2
    UNION ALL
    SELECT date_trunc('minute', dead_at), 0, 0, 0, 0, 0, 1, NULL
    FROM dead_letters WHERE dead_at >= $1 AND dead_at < $2
)
INSERT INTO tallies (minute, claimed, skipped, missed, started, succeeded, failed, dead, lags)
SELECT minute, sum(claimed), sum(skipped), 0, sum(started), sum(succeeded), sum(failed), sum(dead),
       ARRAY(
           SELECT count(*) FILTER (WHERE width_bucket(one.lag, $3::interval[]) = place)
           FROM unnest(array_agg(h.lag)) AS one (lag)
           RIGHT JOIN generate_series(0, cardinality($3::interval[])) AS place
               ON one.lag IS NOT NULL
           GROUP BY place
           ORDER BY place
       )
FROM happened h
GROUP BY minute
"""

_LIKE_BEFORE = """
INSERT INTO tallies (minute, claimed, skipped, missed, started, succeeded, failed, dead, lags)
SELECT minute + interval '1 hour', claimed, skipped, missed, started, succeeded, failed, dead, lags
FROM tallies
WHERE minute >= $1::timestamptz - interval '1 hour' AND minute + interval '1 hour' < now()
ON CONFLICT (minute) DO UPDATE
SET claimed = excluded.claimed, skipped = excluded.skipped, missed = excluded.missed,
    started = excluded.started, succeeded = excluded.succeeded, failed = excluded.failed,
    dead = excluded.dead, lags = excluded.lags
"""
