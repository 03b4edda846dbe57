"""The jobs of a large company: teams of very different sizes, and jobs of every kind."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import accumulate, count
from random import Random
from typing import NamedTuple
from uuid import UUID

import asyncpg
import msgspec

from bench.ground import COLUMNS
from matins.domain.jobs.alerting import AlertRule
from matins.domain.jobs.retry import RetryPolicy
from matins.domain.jobs.spec import PRIORITIES, JobSpec
from matins.domain.jobs.targets import CommandTarget, HttpTarget, Target
from matins.domain.schedules.after_jobs import AfterJobs
from matins.domain.schedules.schedule import Schedule
from matins.domain.values.ids import partition_of

TEAMS = (
    *("data-lake", "payments", "orders", "search", "catalog", "analytics", "logistics", "pricing"),
    *("fraud", "billing", "warehouse", "growth", "marketing", "ml", "identity", "support"),
    *("mobile", "platform", "compliance", "legal"),
)
"""The largest first: each has three quarters of the one before."""

DAY_S = 86_400
_CHAINED_OF = 25
_PAUSED_OF = 50
_REVISED_OF = 10
_VERBS = ("import", "export", "sync", "settle", "refresh", "rebuild", "check", "purge", "score")
_NOUNS = ("orders", "invoices", "events", "prices", "stock", "users", "rates", "reports", "index")
_PLACES = ("de", "fr", "it", "es", "nl", "pl", "se", "uk", "us", "jp")
_POOLS = ("default", "default", "default", "batch", "gpu")
_PACES = ((0.66, DAY_S), (0.86, 6 * 3600), (0.985, 3600), (1.0, 300))
"""Which share of the jobs, counted from the first, is due how often, in seconds."""


class Pace(NamedTuple):
    """How a job runs: `number` tells jobs apart; of a thousand runs so many are dead or retried."""

    job_id: UUID
    team_id: int
    partition: int
    priority: int
    pool: str
    kind: str
    offset_s: int
    period_s: int
    length_s: float
    dead: int
    retried: int
    number: int


async def fill(session: asyncpg.Connection, jobs: int, now: datetime) -> float:
    """Make the jobs and their revisions, and a table `paces` of theirs; gives their runs a day."""
    rng = Random(1)
    teams = {
        name: await session.fetchval(
            "INSERT INTO teams (name, created_at) VALUES ($1, $2) RETURNING id", name, now
        )
        for name in TEAMS
    }
    made = [*_made(rng, teams, jobs)]
    await session.copy_records_to_table(
        "jobs",
        records=[_row(spec, pace, now) for spec, pace in made],
        columns=(*COLUMNS[:-1], "follows"),
    )
    chains = [(pace, spec) for spec, pace in made if spec.upstream]
    await session.copy_records_to_table(
        "upstreams",
        records=[(p.job_id, 0, p.team_id, spec.upstream[0]) for p, spec in chains],
        columns=("job_id", "position", "team_id", "name"),
    )
    await session.execute(_PACES_TABLE)
    await session.copy_records_to_table("paces", records=[pace for _, pace in made])
    await session.execute(_REVISIONS, _REVISED_OF)
    await session.execute(_PAUSE, _PAUSED_OF)
    return sum(DAY_S / pace.period_s for _, pace in made)


def _made(rng: Random, teams: dict[str, int], jobs: int) -> Iterator[tuple[JobSpec, Pace]]:
    shares = [*accumulate(0.75**at for at in range(len(TEAMS)))]
    numbers = count()
    for at, (name, team_id) in enumerate(teams.items()):
        before = shares[at - 1] if at else 0.0
        size = round(jobs * shares[at] / shares[-1]) - round(jobs * before / shares[-1])
        leader: str = ""
        leading: Pace | None = None
        for place in range(size):
            led_by = leader if leading and place % _CHAINED_OF == 1 else None
            period = next(period for share, period in _PACES if rng.random() < share)
            spec = _spec(rng, name, place, period, led_by)
            pace = _pace(rng, spec, team_id, next(numbers), period)
            if led_by and leading:
                pace = pace._replace(
                    offset_s=leading.offset_s, period_s=leading.period_s, kind="chained"
                )
            else:
                leader, leading = spec.name, pace
            yield spec, pace


def _spec(rng: Random, team: str, place: int, period: int, leader: str | None) -> JobSpec:
    noun, where = rng.choice(_NOUNS), rng.choice(_PLACES)
    name = f"{rng.choice(_VERBS)}-{noun}-{where}-{place}"
    minute, hour = rng.randrange(60), rng.randrange(24)
    cron = {
        DAY_S: f"{minute} {hour} * * *",
        6 * 3600: f"{minute} {hour % 6}-23/6 * * *",
        3600: f"{minute} * * * *",
        300: "*/5 * * * *",
    }[period]
    if rng.random() < 0.6:
        url = f"https://{team}.internal.example/jobs/{noun}/{where}"
        target = Target(http=HttpTarget(url=url, body={"country": where, "rows": 10_000}))
    else:
        argv = [f"/opt/{team}/bin/{noun}", "--country", where, "--batch", "10000"]
        target = Target(command=CommandTarget(argv))
    schedule = Schedule(after=AfterJobs([leader])) if leader else Schedule(cron=cron)
    return JobSpec(
        name=name,
        target=target,
        schedule=schedule,
        description=f"Keep {noun} of {where.upper()} as they are at the source",
        labels={"tier": rng.choice(("gold", "silver", "bronze")), "country": where},
        pool=rng.choice(_POOLS),
        priority=rng.choice(("normal", "normal", "normal", "high", "low")),
        timeout="30m",
        retry=RetryPolicy(attempts=3),
        alerts=[AlertRule(on="dead")] if rng.random() < 0.2 else [],
    )


def _pace(rng: Random, spec: JobSpec, team_id: int, number: int, period: int) -> Pace:
    """Most jobs hardly ever fail, some now and then, and a few all the time."""
    job_id = UUID(int=rng.getrandbits(128), version=4)
    health = rng.random()
    dead, retried = (1, 4) if health < 0.9 else (20, 120) if health < 0.985 else (400, 100)
    length = min(rng.lognormvariate(2.5, 1.5), period / 3)
    cron = spec.schedule.cron if spec.schedule and spec.schedule.cron else "0 0 * * *"
    minute, hour = cron.split()[:2]
    offset = 0
    if minute.isdigit():
        offset = 60 * int(minute)
        offset += 3600 * int(hour.partition("-")[0]) if hour != "*" else 0
    own = (job_id, team_id, partition_of(job_id), PRIORITIES[spec.priority], spec.pool)
    return Pace(*own, "scheduled", offset, period, length, dead, retried, number)


def _row(spec: JobSpec, pace: Pace, now: datetime) -> tuple[object, ...]:
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    passed = int((now - midnight).total_seconds()) - pace.offset_s
    due = midnight + timedelta(
        seconds=pace.offset_s + (max(passed, -1) // pace.period_s + 1) * pace.period_s
    )
    is_chain = bool(spec.upstream)
    text = msgspec.json.encode(spec).decode()
    when = msgspec.json.encode(spec.schedule).decode()
    made = now - timedelta(days=90)
    return (
        *(pace.job_id, pace.team_id, pace.partition, spec.name, 1, "active", text, when, "{}"),
        *(spec.pool, pace.priority, made, made, made),
        *((None, None) if is_chain else (due, due)),
        spec.overlapping.policy,
        due if is_chain else None,
    )


_PACES_TABLE = """
CREATE TABLE paces (
    job_id uuid, team_id integer, partition smallint, priority smallint, pool text, kind text,
    offset_s integer, period_s integer, length_s float8, dead integer, retried integer,
    number integer
)
"""

_REVISIONS = """
WITH changed AS (
    UPDATE jobs j
    SET revision = 2 + p.number / $1 % 4, changed_at = changed_at + interval '60 days'
    FROM paces p
    WHERE p.job_id = j.id AND p.number % $1 = 0
    RETURNING j.id
)
INSERT INTO revisions (
    job_id, revision, partition, effective_at, state, anchor, spec, changed_by, change_reason
)
SELECT j.id, n, j.partition, j.created_at + (n - 1) * interval '15 days', 'active', j.anchor,
       CASE WHEN n = last THEN j.spec
            ELSE j.spec || jsonb_build_object('timeout', 10 * n || 'm') END,
       'admin', CASE WHEN n = 1 THEN '' ELSE 'runs took longer than they may' END
FROM jobs j
JOIN paces p ON p.job_id = j.id
CROSS JOIN LATERAL (
    SELECT CASE p.number % $1 WHEN 0 THEN 2 + p.number / $1 % 4 ELSE 1 END AS last
) AS r
CROSS JOIN generate_series(1, last) AS n
"""

_PAUSE = """
UPDATE jobs j
SET state = 'paused', reason = 'waits for the new supplier', next_due_at = NULL,
    next_fire_at = NULL
FROM paces p
WHERE p.job_id = j.id AND p.number % $1 = 7 AND j.follows IS NULL
"""
