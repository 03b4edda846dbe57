"""The ground of the benchmarks: a PostgreSQL of their own, with fsync on, filled with jobs."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median
from uuid import UUID, uuid4

import asyncpg
import msgspec

from matins.domain.jobs.overlap import OverlapPolicy
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import HttpTarget, Target
from matins.domain.schedules.schedule import Schedule
from matins.domain.values.ids import partition_of
from matins.engines.postgres import EmbeddedPostgres
from matins.kernel.settings import read_settings
from matins.store.database import Database
from matins.store.day_tables import PostgresDayTables
from matins.store.migrate import migrate
from matins.upkeep.days import make_days_ahead

SECOND = timedelta(seconds=1)
KEYS = 1_000
GATE_LIMIT = 1_000_000

COLUMNS = (
    *("id", "team_id", "partition", "name", "revision", "state", "spec", "schedule", "misfire"),
    *("pool", "priority", "anchor", "created_at", "changed_at", "next_due_at", "next_fire_at"),
    *("overlap", "gates"),
)


@contextmanager
def folder() -> Iterator[Path]:
    """A temporary folder that the servers' own account can reach."""
    path = Path(tempfile.mkdtemp(prefix="matins-bench-"))
    path.chmod(0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@asynccontextmanager
async def postgres(path: Path, settings: Mapping[str, str] | None = None) -> AsyncIterator[str]:
    """A migrated PostgreSQL as `matins up` starts it, with these settings more; gives its DSN."""
    server = EmbeddedPostgres(path / "postgres", programs=read_settings().postgres_programs)
    dsn = await server.start(settings)
    try:
        await migrate(dsn)
        database = Database(dsn, name="bench", size=1)
        await make_days_ahead(PostgresDayTables(database))
        await database.close()
        yield dsn
    finally:
        await server.stop()


async def fill_jobs(  # noqa: PLR0913 # what jobs differ in
    dsn: str,
    count: int,
    schedule: Schedule | None,
    next_due_at: datetime | None,
    spread_over: timedelta = timedelta(),
    *,
    gated: bool = False,
    team: str = "bench",
    priority: int = 1,
    weight: int = 1,
    overlap: OverlapPolicy = "skip",
) -> list[UUID]:
    """Make active jobs of one team with an HTTP target that is never called; gives their ids.

    Their due times are whole seconds, spread evenly from `next_due_at` on. `gated`: each of them
    has one of a thousand concurrency keys, which has room for all.
    """
    ids = [uuid4() for _ in range(count)]
    session = await asyncpg.connect(dsn)
    team_id = await session.fetchval(
        "INSERT INTO teams (name, created_at, weight) VALUES ($1, clock_timestamp(), $2)"
        " ON CONFLICT (name) DO UPDATE SET weight = excluded.weight RETURNING id",
        team,
        weight,
    )
    now = await session.fetchval("SELECT date_trunc('second', clock_timestamp())")
    spec = JobSpec(
        name="bench",
        target=Target(http=HttpTarget(url="http://127.0.0.1:9/", body={"padding": "x" * 200})),
        schedule=schedule,
        overlap=overlap,
    )
    fields = msgspec.to_builtins(spec)
    when = msgspec.json.encode(schedule).decode() if schedule else None
    shared = (when, "{}", "default", priority, now, now, now)
    texts = [_spec_text(fields, key if gated else None) for key in range(KEYS if gated else 1)]
    gates = [[gate] for gate in await _make_gates(session, team_id)] if gated else [[]]

    def rows() -> Iterator[tuple[object, ...]]:
        for at, job in enumerate(ids):
            due = next_due_at
            if due is not None:
                due += spread_over * at // count // SECOND * SECOND
            text = texts[at % len(texts)]
            own = (job, team_id, partition_of(job), f"bench-{job}", 1, "active", text)
            yield (*own, *shared, due, due, overlap, gates[at % len(gates)])

    # All in one transaction: the trigger would go through all versions of a gate for each job.
    await session.execute("ALTER TABLE jobs DISABLE TRIGGER jobs_enter_gates")
    await session.copy_records_to_table("jobs", records=rows(), columns=COLUMNS)
    await session.execute("ALTER TABLE jobs ENABLE TRIGGER jobs_enter_gates")
    await session.execute("VACUUM ANALYZE jobs")
    await session.execute("CHECKPOINT")
    await session.close()
    return ids


async def _make_gates(session: asyncpg.Connection, team_id: int) -> list[int]:
    """Make a gate for each key; return their ids."""
    rows = await session.fetch(
        "INSERT INTO gates (team_id, kind, name, own_limit)"
        " SELECT $1, 'key', 'key-' || key, $2 FROM generate_series(0, $3 - 1) AS key"
        " ON CONFLICT (team_id, kind, name) DO UPDATE SET own_limit = excluded.own_limit"
        " RETURNING id, name",
        team_id,
        GATE_LIMIT,
        KEYS,
    )
    ids: dict[str, int] = {row["name"]: row["id"] for row in rows}
    return [ids[f"key-{key}"] for key in range(KEYS)]


def _spec_text(fields: Mapping[str, object], key: int | None) -> str:
    """Return a job's spec as JSON, with a concurrency key if a number of one is given."""
    gate = {} if key is None else {"concurrency": {"key": f"key-{key}", "limit": GATE_LIMIT}}
    return msgspec.json.encode({**fields, **gate}).decode()


async def copy(dsn: str, name: str) -> str:
    """Copy a database to which nobody is connected; gives the DSN of the copy."""
    address, _, query = dsn.partition("?")
    server, _, source = address.rpartition("/")
    session = await asyncpg.connect(f"{server}/postgres?{query}")
    await session.execute(f"CREATE DATABASE {name} TEMPLATE {source} STRATEGY file_copy")
    await session.close()
    return f"{server}/{name}?{query}"


def spread(values: Sequence[float]) -> str:
    """Median with minimum and maximum."""
    return f"{median(values):,.0f} ({min(values):,.0f}-{max(values):,.0f})"
