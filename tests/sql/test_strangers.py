"""What others do to the same server, and what of it reaches the engine."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import TypeVar
from urllib.parse import urlsplit
from uuid import UUID

import asyncpg
import msgspec
import pytest
from tests.contract.ports.ground import SPEC, START, Ground, claim, on_postgres
from tests.sql.test_queries import QUERIES

from matins.domain.executors.protocol import End, Ending, Heartbeat, Poll
from matins.domain.runs.attempts import Result
from matins.domain.runs.states import Outcome, RunState
from matins.domain.values.errors import UnavailableError
from matins.store.database import Database
from matins.store.locks import PostgresLocks

T = TypeVar("T")
WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"
HOLDER, OTHER, EXECUTOR, JOB = (UUID(int=number) for number in range(1, 5))


@pytest.fixture
async def ground(dsn: str) -> AsyncIterator[Ground]:
    """An engine's ports on PostgreSQL, and a job."""
    ground, database = on_postgres(dsn)
    await ground.rows.add_job(JOB, SPEC)
    yield ground
    await database.close()


@pytest.fixture
async def stranger(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    """The session of somebody else."""
    session = await asyncpg.connect(dsn)
    yield session
    await session.close()


async def test_a_lease_outlives_the_sessions_that_it_was_taken_by(
    ground: Ground, stranger: asyncpg.Connection
) -> None:
    """PG-09: a row holds it, so that a session which is ended costs its holder nothing."""
    epochs = await ground.leases.acquire(HOLDER, 256, 10)
    await end_all_others(stranger)
    assert await again(lambda: ground.leases.acquire(OTHER, 256, 10)) == {}
    assert await again(lambda: ground.leases.renew(HOLDER, epochs, None, 10)) == epochs.keys()
    wanted = claim(JOB, START)
    assert (await ground.agenda.claim(HOLDER, epochs, [wanted])).made == {wanted.run_id}


async def test_work_that_one_process_does_at_a_time_is_free_once_its_process_stands_still(
    dsn: str,
) -> None:
    """Who only takes long goes on; who is frozen for longer than the bound holds up nobody."""
    first, other = (Database(dsn, name=name, size=1) for name in ("one", "other"))

    async def work() -> None:
        async with PostgresLocks(first, idle_s=0.6).alone("purge"):
            await asyncio.sleep(1.5)
            async with PostgresLocks(other).alone("purge") as is_second:
                assert not is_second
            time.sleep(1.5)  # noqa: ASYNC251 # as a process that is stopped

    with pytest.raises(UnavailableError):
        await work()
    async with PostgresLocks(other).alone("purge") as is_alone:
        assert is_alone
    async with PostgresLocks(first, idle_s=0.6).alone("other") as is_alone:
        assert is_alone
    async with first.session() as session:
        assert await session.fetchval("SHOW idle_session_timeout") == "0"
    for database in (first, other):
        await database.close()


async def test_work_that_one_process_does_at_a_time_is_free_once_its_session_was_ended(
    dsn: str, stranger: asyncpg.Connection
) -> None:
    """PG-09: the lock of a session only saves work; who lost it ends, and another goes on."""
    first, other, third = (Database(dsn, name=name, size=1) for name in ("one", "other", "third"))

    async def work() -> None:
        async with PostgresLocks(first).alone("purge") as is_alone:
            assert is_alone
            async with PostgresLocks(other).alone("purge") as is_second:
                assert not is_second
            await end_all_others(stranger)
            async with PostgresLocks(third).alone("purge") as is_third:
                assert is_third

    with pytest.raises(UnavailableError):
        await work()
    for database in (first, other, third):
        await database.close()


async def test_only_hints_and_room_in_a_gate_notify(stranger: asyncpg.Connection) -> None:
    """PG-11: what claims, hands out and records takes the lock of NOTIFY for the line of a gate
    alone.
    """
    notifying = [query.name for query in QUERIES if re.search(r"(?i)notify", query.sql)]
    assert notifying == ["hints.sql:send"]
    functions = await stranger.fetch(
        "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
        " AND prosrc ~* 'notify'"
    )
    assert [function["proname"] for function in functions] == ["give_back"]


async def test_ends_recorded_by_two_gateways_in_any_order_lock_nobody_out(
    ground: Ground, stranger: asyncpg.Connection
) -> None:
    """PG-17: the same runs, from the first to the last and from the last to the first."""
    epochs = await ground.all_leases(HOLDER)
    claims = [claim(JOB, START + timedelta(minutes=number)) for number in range(60)]
    await ground.agenda.claim(HOLDER, epochs, claims)
    await ground.dispatch.heartbeat(Heartbeat(EXECUTOR, "e", ["default"], 60, 1))
    handout = await ground.dispatch.dequeue(Poll(EXECUTOR, 1, ["default"], 60), "default")
    assert handout is not None
    ended = [
        End(attempt.run_id, attempt.number, Result(Outcome.SUCCEEDED))
        for attempt in handout.attempts
    ]
    ended.sort(key=lambda end: end.run_id.int)
    endings = [Ending(end, RunState.SUCCEEDED, "", None) for end in ended]
    async with stranger.transaction():
        await stranger.execute("SELECT FROM runs WHERE id = $1 FOR UPDATE", ended[30].run_id)
        recording = [
            asyncio.create_task(ground.dispatch.record(EXECUTOR, order))
            for order in (endings, endings[::-1])
        ]
        async with asyncio.timeout(10):
            while await stranger.fetchval(WAITING) < 2:
                await asyncio.sleep(0.01)
    recorded = [ended.status.id for many in await asyncio.gather(*recording) for ended in many]
    assert sorted(recorded) == [end.run_id for end in ended]


async def test_who_has_its_sessions_goes_on_while_others_use_up_the_connections(
    dsn: str, ground: Ground, stranger: asyncpg.Connection
) -> None:
    """PG-20: who opens a new one is told to try again, and is let in afterwards."""
    epochs = await ground.leases.acquire(HOLDER, 256, 10)
    name = urlsplit(dsn).path[1:]
    taken = await stranger.fetchval(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    )
    newcomer = Database(dsn, name="newcomer", size=1)
    await stranger.execute(f"ALTER DATABASE {name} CONNECTION LIMIT {taken}")
    with pytest.raises(UnavailableError, match="too many connections"):
        await PostgresLocks(newcomer).alone("purge").__aenter__()
    assert await ground.leases.renew(HOLDER, epochs, None, 10) == epochs.keys()
    await stranger.execute(f"ALTER DATABASE {name} CONNECTION LIMIT -1")
    async with PostgresLocks(newcomer).alone("purge") as is_alone:
        assert is_alone
    await newcomer.close()


async def test_no_number_that_runs_out_is_drawn_by_what_is_done_often(
    ground: Ground, stranger: asyncpg.Connection
) -> None:
    """PG-21: claims draw none at all, and jobs of a team that is there draw none of its kind."""
    sequences = await stranger.fetch("SELECT sequencename, data_type FROM pg_sequences")
    small = {
        sequence["sequencename"] for sequence in sequences if sequence["data_type"] == "integer"
    }
    assert small == {"teams_id_seq", "calendars_id_seq", "channels_id_seq", "windows_id_seq"}
    for sequence in small:
        await stranger.execute(f"SELECT setval('{sequence}', 2147483647)")
    for number in range(3):
        await ground.owners.jobs.put(
            "default", msgspec.structs.replace(SPEC, name=f"more-{number}")
        )
    epochs = await ground.all_leases(HOLDER)
    wanted = claim(JOB, START)
    assert (await ground.agenda.claim(HOLDER, epochs, [wanted])).made == {wanted.run_id}


async def test_claims_touch_no_row_of_their_team(
    ground: Ground, stranger: asyncpg.Connection
) -> None:
    """PG-24: nothing is counted there, so that runs of a team don't come one by one."""
    epochs = await ground.all_leases(HOLDER)
    wanted = claim(JOB, START)
    async with stranger.transaction():
        await stranger.execute("SELECT FROM teams FOR UPDATE")
        answer = await ground.agenda.claim(HOLDER, epochs, [wanted])
    assert answer.made == {wanted.run_id}


async def end_all_others(session: asyncpg.Connection) -> None:
    """End all other sessions of this database, and wait until they are gone."""
    others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    await session.execute(f"SELECT pg_terminate_backend(pid) {others}")
    async with asyncio.timeout(10):
        while await session.fetchval(f"SELECT count(*) {others}"):
            await asyncio.sleep(0.01)


async def again(work: Callable[[], Awaitable[T]]) -> T:
    """Do it, once more if the session was ended in which it was to be done."""
    try:
        return await work()
    except UnavailableError:
        return await work()
