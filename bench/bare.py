"""A bare loop of the engine's own statements: what the roles' processor time is held against."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from matins.domain.executors.protocol import End, Ending, Handout, Heartbeat, Poll
from matins.domain.runs.attempts import Result
from matins.domain.runs.claims import Advance, Claim
from matins.domain.runs.states import Outcome, RunState
from matins.domain.values.ids import partition_of, run_id
from matins.store.agenda import PostgresAgenda
from matins.store.database import Database
from matins.store.dispatch import PostgresDispatch
from matins.store.leases import PostgresLeases

BATCH = 500
DAY = timedelta(days=1)
_END = Result(Outcome.SUCCEEDED)


async def spend(dsn: str, jobs: Sequence[UUID], due: datetime) -> dict[str, float]:
    """Run each job once; return the seconds of CPU of this process for the statements of a role.

    For the scheduler they are claim and advance, for the API dequeue and record. All that they are
    told is made beforehand.
    """
    database = Database(dsn, name="bare", size=1, by_key_only=True)
    leases = PostgresLeases(database)
    agenda = PostgresAgenda(database, database, leases)
    dispatch = PostgresDispatch(database, database, database)
    holder, executor = uuid4(), uuid4()
    await leases.count_alive(1)
    epochs = await leases.acquire(holder, 256, 3600)
    await dispatch.heartbeat(Heartbeat(executor, "bare", ["default"], BATCH, 1))
    batches = [jobs[at : at + BATCH] for at in range(0, len(jobs), BATCH)]
    claims = [[_claim(job, due) for job in batch] for batch in batches]
    steps = [[Advance(job, 1, due + DAY, due + DAY, due) for job in batch] for batch in batches]
    polls = [Poll(executor, seq, ["default"], BATCH) for seq in range(1, len(batches) + 1)]
    endings = [
        [Ending(End(claim.run_id, 1, _END), RunState.SUCCEEDED) for claim in batch]
        for batch in claims
    ]
    begun_s = time.process_time()
    for batch, step in zip(claims, steps, strict=True):
        assert len((await agenda.claim(holder, epochs, batch)).made) == len(batch)
        await agenda.advance(holder, step)
    between_s = time.process_time()
    handouts: list[Handout | None] = [await dispatch.dequeue(poll, "default") for poll in polls]
    for ending in endings:
        assert len(await dispatch.record(executor, ending)) == len(ending)
    ended_s = time.process_time()
    assert all(handouts)
    await database.close()
    return {"scheduler": between_s - begun_s, "api": ended_s - between_s}


def _claim(job: UUID, due: datetime) -> Claim:
    run = run_id(job, due, "scheduled")
    return Claim(run, job, 1, partition_of(job), "default", due, due)
