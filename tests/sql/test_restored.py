"""A database that is put back in place: the server goes on, and no session hears of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID

import asyncpg
import pytest
from tests.contract.ports.ground import SPEC, START, Ground, advance, claim, on_postgres

JOB, HOLDER = UUID(int=5), UUID(int=6)
TABLES = ("jobs", "runs", "dispatch", "partitions", "schedulers")
TERM_S = 10.0
LATER = START + timedelta(minutes=1)


@pytest.fixture
async def ground(dsn: str) -> AsyncIterator[Ground]:
    """A job that is due now."""
    ground, database = on_postgres(dsn)
    await ground.rows.add_job(JOB, SPEC)
    yield ground
    await database.close()


@pytest.fixture
async def session(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    """A session beside the engine's."""
    session = await asyncpg.connect(dsn)
    yield session
    await session.close()


async def back_up(session: asyncpg.Connection) -> None:
    """Keep a copy of all rows."""
    for table in TABLES:
        await session.execute(f"CREATE TABLE copy_of_{table} AS TABLE {table}")


async def restore(session: asyncpg.Connection) -> None:
    """Put the rows back as they were when they were copied."""
    async with session.transaction():
        await session.execute(f"TRUNCATE {', '.join(TABLES)} CASCADE")
        for table in TABLES:
            await session.execute(f"INSERT INTO {table} TABLE copy_of_{table}")


@pytest.mark.parametrize("last", ["renewed", "acquired", "released some"])
async def test_no_due_time_is_passed_whose_row_was_lost(
    ground: Ground, session: asyncpg.Connection, last: str
) -> None:
    epochs = await ground.leases.acquire(HOLDER, 100, TERM_S)
    await back_up(session)
    ground.clock.move(1)
    epochs |= await ground.leases.acquire(HOLDER, 156, TERM_S)
    if last == "renewed":
        await ground.leases.renew(HOLDER, epochs, None, TERM_S)
    if last == "released some":
        await ground.leases.release(HOLDER, {255: epochs.pop(255)})
    claimed = claim(JOB, START)
    assert (await ground.agenda.claim(HOLDER, epochs, [claimed])).made == {claimed.run_id}
    await restore(session)
    await ground.agenda.advance(HOLDER, [advance(JOB, LATER)])
    [job] = await ground.agenda.find_jobs([JOB])
    assert job.next_due_at == START


async def test_a_renewal_whose_answer_was_lost_holds_up_no_next_due_time(
    ground: Ground, session: asyncpg.Connection
) -> None:
    await ground.leases.acquire(HOLDER, 256, TERM_S)
    await session.execute("UPDATE schedulers SET renewed_at = renewed_at + interval '1 second'")
    await ground.agenda.advance(HOLDER, [advance(JOB, LATER)])
    [job] = await ground.agenda.find_jobs([JOB])
    assert job.next_due_at == LATER
