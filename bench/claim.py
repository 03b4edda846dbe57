"""Claims a second through the product's claim statement, on one connection, by batch size.

    python -m bench.claim [--jobs 100000] [--rounds 5]

Each round claims the next due time of so many random jobs, all leases held; the fence, the check of
the revision and the insert into the dispatch queue are in the statement. A maintenance window of
another team is in force, and a job in a hundred follows the ends of its runs.

By turns with it, `skip`: the same for jobs whose runs may not overlap, of each of which a run is
over that was due before.

And the floor: a bare insert of the same rows into the same tables behind the same
fence, which looks at no job, no window and no row that is there, and is told all that it writes.
"""

from __future__ import annotations

import argparse
import gc
import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import asyncpg
import msgspec
import uvloop

from bench.ground import fill_jobs, folder, postgres, spread
from matins.domain.runs.claims import Claim
from matins.domain.values.ids import partition_of, run_id
from matins.kernel.clock import elapsed_s
from matins.store.agenda import PostgresAgenda
from matins.store.database import Database, session_settings
from matins.store.leases import PostgresLeases

FLOOR = """
WITH fence AS (
    SELECT p.partition
    FROM unnest($1::smallint[], $2::bigint[]) AS h (partition, epoch)
    JOIN partitions p ON p.partition = h.partition
    WHERE p.holder = $3::uuid
      AND p.epoch = h.epoch
      AND (SELECT expires_at FROM schedulers WHERE id = $3) > clock_timestamp()
    ORDER BY p.partition
    FOR SHARE OF p
),
made AS (
    INSERT INTO runs (
        id, job_id, due_at, fire_at, claimed_at, epoch, team_id, partition, priority, kind, state,
        pool
    )
    SELECT id, job_id, due_at, fire_at, clock_timestamp(), epoch, team_id, partition, priority,
           kind, state, pool
    FROM unnest(
        $4::uuid[], $5::uuid[], $6::timestamptz[], $7::timestamptz[], $8::bigint[], $9::integer[],
        $10::smallint[], $11::smallint[], $12::text[], $13::text[], $14::text[]
    ) AS c (id, job_id, due_at, fire_at, epoch, team_id, partition, priority, kind, state, pool)
    WHERE partition = ANY (array(SELECT partition FROM fence))
    RETURNING id, due_at, pool
),
enqueued AS (
    INSERT INTO dispatch (pool, rank, run_id, due_at)
    SELECT pool, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, id, due_at
    FROM made
)
SELECT count(*) FROM made
"""

WINDOW = """
INSERT INTO windows (team_id, name, policy, starts_at, ends_at, reason, made_at)
SELECT id, 'bench', 'hold', now() - interval '1 day', now() + interval '1 day', 'bench', now()
FROM teams WHERE name = 'another'
"""

END = "UPDATE runs SET state = 'succeeded', finished_at = now() WHERE finished_at IS NULL"

SIZES = {1: 1_000, 10: 5_000, 100: 20_000, 1_000: 60_000, 5_000: 60_000}
"""Batch size → runs claimed in a round."""


async def main(jobs: int, rounds: int) -> None:
    """Measure and print."""
    with folder() as path:
        async with postgres(path) as dsn:
            await measure(dsn, jobs, rounds)


async def measure(dsn: str, jobs: int, rounds: int) -> None:
    """All rounds of all sizes, each of the two by turns."""
    ids = await fill_jobs(dsn, jobs, None, None)
    bare = await asyncpg.connect(
        dsn, server_settings=session_settings("floor", by_key_only=True, deadline_s=60)
    )
    await bare.execute("INSERT INTO teams (name, created_at) VALUES ('another', now())")
    await bare.execute(WINDOW)
    floor = await bare.prepare(FLOOR)
    claims = Database(dsn, name="claims", size=1, by_key_only=True)
    leases = PostgresLeases(claims)
    agenda = PostgresAgenda(claims, claims, leases)
    holder = uuid4()
    epochs = await leases.acquire(holder, 256, 3600)

    async def claim(batch: list[Claim]) -> int:
        return len((await agenda.claim(holder, epochs, batch)).made)

    async def skip(batch: list[Claim]) -> int:
        since = [known.get(claim.job_id, claim.due_at) for claim in batch]
        asked = map(_looking, batch, since)
        return len((await agenda.claim(holder, epochs, list(asked))).made)

    async def insert(batch: list[Claim]) -> int:
        wanted = sorted({claim.partition for claim in batch})
        given = [
            wanted,
            [epochs[partition] for partition in wanted],
            holder,
            *_columns(batch, epochs),
        ]
        return int(await floor.fetchval(*given))

    due = datetime.now(UTC).replace(microsecond=0)
    rates: dict[int, list[tuple[float, ...]]] = {size: [] for size in SIZES}
    known: dict[UUID, datetime] = {}
    gc.freeze()
    for _ in range(rounds):
        for size, count in SIZES.items():
            taken = []
            for work in (claim, skip, insert):
                due += timedelta(seconds=1)
                sample = random.sample(ids, min(count, len(ids)))
                taken.append(await _rate(work, _batches(sample, due, size)))
                known |= dict.fromkeys(sample, due)
                await bare.execute(END)
            rates[size].append(tuple(taken))
    for size, measured in rates.items():
        claimed, skipping, inserted = zip(*measured, strict=True)
        shares = [100 * claim_rate / bound for claim_rate, _, bound in measured]
        costs = [100 * (claim_rate / other - 1) for claim_rate, other, _ in measured]
        print(
            f"claims/s at batch {size:>5}: {spread(claimed)};"
            f" bare fenced insert {spread(inserted)}; of that {spread(shares)} %;"
            f" overlap skip {spread(skipping)}, which costs {spread(costs)} % more"
        )
    await claims.close()
    await bare.close()


async def _rate(work: Callable[[list[Claim]], Awaitable[int]], batches: list[list[Claim]]) -> float:
    begun_s = elapsed_s()
    made = sum([await work(batch) for batch in batches])
    assert made == sum(map(len, batches))
    return made / (elapsed_s() - begun_s)


def _looking(claim: Claim, since: datetime) -> Claim:
    return msgspec.structs.replace(claim, open_since=since)


def _columns(batch: list[Claim], epochs: dict[int, int]) -> list[list[object]]:
    return [
        [claim.run_id for claim in batch],
        [claim.job_id for claim in batch],
        [claim.due_at for claim in batch],
        [claim.fire_at for claim in batch],
        [epochs[claim.partition] for claim in batch],
        [1] * len(batch),
        [claim.partition for claim in batch],
        [1] * len(batch),
        [claim.kind for claim in batch],
        [claim.state for claim in batch],
        [claim.pool for claim in batch],
    ]


def _batches(jobs: list[UUID], due: datetime, size: int) -> list[list[Claim]]:
    claims = [
        Claim(
            run_id=run_id(job, due, "scheduled"),
            job_id=job,
            revision=1,
            partition=partition_of(job),
            pool="default",
            due_at=due,
            fire_at=due,
            follows_end=at % 100 == 0,
        )
        for at, job in enumerate(jobs)
    ]
    return [claims[at : at + size] for at in range(0, len(claims), size)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    uvloop.run(main(given.jobs, given.rounds))
