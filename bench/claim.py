"""Claims a second through the product's claim statement, on one connection, by batch size.

    python -m bench.claim [--jobs 100000] [--rounds 3]

Each round claims the next due time of so many random jobs, all leases held; the fence, the check of
the revision and the insert into the dispatch queue are in the statement.
"""

from __future__ import annotations

import argparse
import random
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import uvloop

from bench.ground import fill_jobs, folder, postgres, spread
from matins.domain.claims import Claim
from matins.domain.ids import partition_of, run_id
from matins.kernel.clock import elapsed_s
from matins.store.agenda import PostgresAgenda
from matins.store.database import Database
from matins.store.leases import PostgresLeases

SIZES = {1: 1_000, 10: 5_000, 100: 20_000, 1_000: 60_000, 5_000: 60_000}
"""Batch size → runs claimed in a round."""


async def main(jobs: int, rounds: int) -> None:
    """Measure and print."""
    with folder() as path:
        async with postgres(path) as dsn:
            await measure(dsn, jobs, rounds)


async def measure(dsn: str, jobs: int, rounds: int) -> None:
    """All rounds of all sizes, interleaved."""
    ids = await fill_jobs(dsn, jobs, None, None)
    claims = Database(dsn, name="claims", size=1, by_key_only=True)
    agenda = PostgresAgenda(claims, claims)
    leases = PostgresLeases(claims)
    holder = uuid4()
    epochs = await leases.acquire(holder, 256, 3600)
    due = datetime.now(UTC).replace(microsecond=0)
    rates: dict[int, list[float]] = {size: [] for size in SIZES}
    for _ in range(rounds):
        for size, count in SIZES.items():
            due += timedelta(seconds=1)
            batches = _batches(random.sample(ids, min(count, len(ids))), due, size)
            begun = elapsed_s()
            made = 0
            for batch in batches:
                made += len((await agenda.claim(holder, epochs, batch)).made)
            rates[size].append(made / (elapsed_s() - begun))
            assert made == sum(map(len, batches))
    for size, measured in rates.items():
        print(f"claims/s at batch {size:>5}: {spread(measured)}")
    await claims.close()


def _batches(jobs: list[UUID], due: datetime, size: int) -> list[list[Claim]]:
    claims = [
        Claim(
            run_id=run_id(job, due, "scheduled"),
            job_id=job,
            team_id=1,
            revision=1,
            partition=partition_of(job),
            pool="default",
            priority=1,
            due_at=due,
            fire_at=due,
        )
        for job in jobs
    ]
    return [claims[at : at + size] for at in range(0, len(claims), size)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    uvloop.run(main(given.jobs, given.rounds))
