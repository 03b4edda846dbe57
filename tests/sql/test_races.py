"""Statements that meet: each waits for the other where it must, and passes it by where it may."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest
from tests.contract.ports.ground import SPEC, START, Ground, claim, on_postgres

from matins.domain.executors.protocol import End, Ending, Heartbeat, Poll
from matins.domain.runs.admission.deciding import decide
from matins.domain.runs.attempts import Result
from matins.domain.runs.states import Outcome, RunState
from matins.domain.values.errors import BlockedError
from matins.domain.values.ids import partition_of
from matins.store.agenda import PostgresAgenda
from matins.store.database import Database
from matins.store.dispatch import PostgresDispatch
from matins.store.fronts import SWEEP
from matins.store.leases import PostgresLeases
from matins.store.queries import load_queries

HOLDER, OTHER, EXECUTOR, JOB = (UUID(int=number) for number in range(1, 5))
PATIENCE_S = 20.0
SWEEP_S = SWEEP / 1e6

# What a change of a job does that puts a due time on record.
UNCOMMITTED = """
INSERT INTO runs (
    id, job_id, due_at, fire_at, claimed_at, finished_at, epoch, team_id, partition, priority, kind,
    state, pool, reason
)
SELECT $1, id, $3, $3, $3, $3, 0, team_id, partition, priority, 'scheduled', 'skipped', pool,
       'changed'
FROM jobs
WHERE id = $2
"""


@pytest.fixture
async def ground(dsn: str) -> AsyncIterator[Ground]:
    ground, database = on_postgres(dsn)
    yield ground
    await database.close()


@pytest.fixture
async def other(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    """The session of somebody else, whose statement is under way."""
    session = await asyncpg.connect(dsn)
    yield session
    await session.close()


async def is_blocked(session: asyncpg.Connection) -> None:
    """Wait until somebody waits for what this session holds.

    Asked of locks: within a transaction, pg_stat_activity goes on showing the sessions of its first
    look, and who waits may have connected since.
    """
    own = await session.fetchval("SELECT pg_backend_pid()")
    async with asyncio.timeout(PATIENCE_S):
        while not await session.fetchval(
            "SELECT EXISTS (SELECT FROM pg_locks"
            " WHERE NOT granted AND $1 = ANY (pg_blocking_pids(pid)))",
            own,
        ):
            await asyncio.sleep(0.01)


async def queue(ground: Ground, count: int) -> list[UUID]:
    """So many runs in the queue, and an executor that may take them."""
    await ground.rows.add_job(JOB, SPEC)
    epochs = await ground.all_leases(HOLDER)
    claims = [claim(JOB, START + timedelta(minutes=number)) for number in range(count)]
    for due_claim in claims:
        await ground.agenda.claim(HOLDER, epochs, [due_claim])
        ground.clock.move(0.001)
    await ground.dispatch.heartbeat(Heartbeat(EXECUTOR, "e", ["default"], 9, 1))
    return [claim.run_id for claim in claims]


async def test_a_claim_waits_for_a_take_over_that_is_under_way_and_is_refused(
    ground: Ground, other: asyncpg.Connection
) -> None:
    await ground.rows.add_job(JOB, SPEC)
    epochs = await ground.all_leases(HOLDER)
    async with other.transaction():
        await other.execute("UPDATE partitions SET epoch = epoch + 1, holder = $1", OTHER)
        claiming = asyncio.create_task(ground.agenda.claim(HOLDER, epochs, [claim(JOB, START)]))
        await is_blocked(other)
    answer = await claiming
    assert (answer.made, answer.refused) == (set(), {partition_of(JOB)})


async def test_a_claim_that_looked_before_a_range_was_committed_makes_no_row_within_it(
    ground: Ground, other: asyncpg.Connection
) -> None:
    await ground.rows.add_job(JOB, SPEC)
    epochs = await ground.all_leases(HOLDER)
    late = [claim(JOB, START + timedelta(minutes=number)) for number in range(1, 9)]
    await ground.days.make(START.date(), START.date())
    async with other.transaction():
        # It waits for the lease, and has looked at the job by then.
        await other.execute("SELECT FROM partitions FOR UPDATE")
        claiming = asyncio.create_task(ground.agenda.claim(HOLDER, epochs, late))
        await is_blocked(other)
        await other.execute(UNCOMMITTED, uuid4(), JOB, START)
        until = START + timedelta(minutes=9)
        await other.execute("UPDATE runs SET due_until = $1, due_count = 10", until)
        await other.execute("UPDATE jobs SET next_due_at = $1", until + timedelta(minutes=1))
    answer = await claiming
    assert (answer.made, answer.stale) == (set(), {JOB})


async def test_what_somebody_has_locked_is_told(ground: Ground, other: asyncpg.Connection) -> None:
    await ground.all_leases(HOLDER)
    async with other.transaction():
        await other.execute("SELECT FROM partitions WHERE partition IN (7, 9) FOR UPDATE")
        await other.execute("SELECT FROM partitions WHERE partition = 8 FOR SHARE")
        assert await ground.agenda.locked_partitions(range(5, 9)) == {7}
    assert await ground.agenda.locked_partitions(range(256)) == set()


async def test_a_claim_that_waits_for_too_long_was_not_made(
    dsn: str, ground: Ground, other: asyncpg.Connection
) -> None:
    await ground.rows.add_job(JOB, SPEC)
    epochs = await ground.all_leases(HOLDER)
    hasty = Database(dsn, name="hasty", by_key_only=True, lock_s=0.01, now=ground.clock.now)
    agenda = PostgresAgenda(hasty, hasty, PostgresLeases(hasty))
    wanted = claim(JOB, START)
    await ground.days.make(START.date(), START.date())
    async with other.transaction():
        await other.execute(UNCOMMITTED, wanted.run_id, JOB, START)
        with pytest.raises(BlockedError):
            await agenda.claim(HOLDER, epochs, [wanted])
    assert (await agenda.claim(HOLDER, epochs, [wanted])).made == set()
    await hasty.close()


async def test_an_admission_waits_for_a_take_over_that_is_under_way_and_is_refused(
    ground: Ground, other: asyncpg.Connection
) -> None:
    await queue(ground, 1)
    epochs = {partition_of(JOB): 1}
    await other.execute("DELETE FROM dispatch")
    await other.execute("UPDATE runs SET state = 'retrying', retry_at = $1", START)
    await other.execute(
        "INSERT INTO waiting (partition, ready_at, run_id, due_at, team_id, cause)"
        " SELECT partition, retry_at, id, due_at, team_id, 'retry' FROM runs"
    )
    retries = await ground.waiting(JOB)
    assert len(retries) == 1
    async with other.transaction():
        await other.execute("UPDATE partitions SET epoch = epoch + 1, holder = $1", OTHER)
        admitting = asyncio.create_task(ground.admit(HOLDER, epochs, retries))
        await is_blocked(other)
    assert (await admitting).refused == epochs.keys()


async def test_a_take_over_passes_by_what_is_being_claimed(
    ground: Ground, other: asyncpg.Connection
) -> None:
    await ground.leases.acquire(HOLDER, 256, 10)
    ground.clock.move(10)
    async with other.transaction():
        await other.execute("SELECT FROM partitions WHERE partition = 7 FOR SHARE")
        taken = await ground.leases.acquire(OTHER, 256, 10)
    assert taken.keys() == set(range(256)) - {7}


async def test_a_take_waits_for_a_declaration_of_loss_that_is_under_way_and_gets_nothing(
    ground: Ground, other: asyncpg.Connection
) -> None:
    await queue(ground, 1)
    async with other.transaction():
        await other.execute("UPDATE executors SET ended_at = $1", START)
        poll = Poll(EXECUTOR, 1, ["default"], 9)
        taking = asyncio.create_task(ground.dispatch.dequeue(poll, "default"))
        await is_blocked(other)
    answer = await taking
    assert answer is not None
    assert (answer.unknown, answer.attempts) == (True, [])


async def test_runs_of_old_ranks_are_all_taken_by_a_queue_that_was_empty(
    ground: Ground, other: asyncpg.Connection
) -> None:
    runs = await queue(ground, 20)
    await other.execute("CREATE TABLE kept AS SELECT * FROM dispatch")
    await other.execute("DELETE FROM dispatch")
    assert await ground.dispatch.dequeue(Poll(EXECUTOR, 1, ["default"], 9), "default") is None
    await other.execute("UPDATE kept SET rank = 0")
    await other.execute("INSERT INTO dispatch SELECT * FROM kept")
    ground.clock.move(SWEEP_S)
    taken = []
    for seq in range(2, 6):  # the first of them learns the time, and those after it look at all
        answer = await ground.dispatch.dequeue(Poll(EXECUTOR, seq, ["default"], 9), "default")
        taken += [] if answer is None else [attempt.run_id for attempt in answer.attempts]
    assert sorted(taken) == sorted(runs)


async def test_a_take_passes_by_what_is_being_taken(
    ground: Ground, other: asyncpg.Connection
) -> None:
    first, second = await queue(ground, 2)
    async with other.transaction():
        await other.execute("SELECT FROM dispatch WHERE run_id = $1 FOR UPDATE", first)
        async with asyncio.timeout(PATIENCE_S):
            answer = await ground.dispatch.dequeue(Poll(EXECUTOR, 1, ["default"], 9), "default")
    assert answer is not None
    assert [attempt.run_id for attempt in answer.attempts] == [second]


async def test_a_take_passes_by_runs_that_stay_locked_until_they_are_free(
    dsn: str, ground: Ground, other: asyncpg.Connection
) -> None:
    first, second, third = await queue(ground, 3)
    hasty = Database(dsn, name="hasty", by_key_only=True, lock_s=0.01, now=ground.clock.now)
    dispatch = PostgresDispatch(hasty, hasty, hasty)

    async def dequeue(seq: int, free: int) -> list[UUID]:
        answer = await dispatch.dequeue(Poll(EXECUTOR, seq, ["default"], free), "default")
        return [attempt.run_id for attempt in answer.attempts] if answer else []

    async with other.transaction():
        await other.execute("SELECT FROM runs WHERE id = $1 FOR UPDATE", first)
        assert await dequeue(1, free=1) == [second]
        assert await dequeue(2, free=9) == [third]
    ground.clock.move(SWEEP_S)
    assert await dequeue(3, free=9) == []
    assert await dequeue(4, free=9) == [first]
    await hasty.close()


async def test_an_executor_from_which_is_just_handed_out_again_is_not_noted_as_empty(
    dsn: str, ground: Ground, other: asyncpg.Connection
) -> None:
    """Its run would be looked for no more."""
    [run] = await queue(ground, 1)
    await ground.dispatch.dequeue(Poll(EXECUTOR, 1, ["default"], 9), "default")
    await other.execute("DELETE FROM handouts")
    await other.execute("UPDATE executors SET ended_at = $1", START)
    database = Database(dsn, name="healing", size=1, now=ground.clock.now)
    query = load_queries("healing.sql")["hand_out_again"]
    given = {"executor": EXECUTOR, "partition": partition_of(EXECUTOR), "run_ids": [run]}
    async with database.transaction() as session:
        await database.run(session, query, **given)
        assert await ground.watch.abandoned_runs(9) == []
    [(executor, running)] = await ground.watch.abandoned_runs(9)
    assert (executor, [attempt.run_id for attempt in running]) == (EXECUTOR, [run])
    await database.close()


async def test_an_attempt_that_is_tried_again_ended_when_its_wait_began(
    dsn: str, ground: Ground, other: asyncpg.Connection
) -> None:
    runs = await queue(ground, 9)
    await ground.dispatch.dequeue(Poll(EXECUTOR, 1, ["default"], 9), "default")
    failed = Result(Outcome.FAILED, "exit code 1", exit_code=1)
    database = Database(dsn, name="by its own clock", by_key_only=True)
    dispatch = PostgresDispatch(database, database, database)
    endings = [
        Ending(End(run, 1, failed), RunState.RETRYING, "exit code 1", 0.1 * number)
        for number, run in enumerate(runs)
    ]
    assert len(await dispatch.record(EXECUTOR, endings)) == 9
    waits = await other.fetch(
        "SELECT r.retry_at - a.finished_at AS wait FROM runs r"
        " JOIN attempts a ON a.run_id = r.id ORDER BY r.due_at"
    )
    assert [row["wait"] for row in waits] == [timedelta(seconds=0.1 * n) for n in range(9)]
    await database.close()


async def test_two_claims_of_one_due_time_at_once_make_one_run(
    ground: Ground, other: asyncpg.Connection
) -> None:
    await ground.rows.add_job(JOB, SPEC)
    epochs = await ground.all_leases(HOLDER)
    wanted = claim(JOB, START)
    answers = await asyncio.gather(
        *(ground.agenda.claim(HOLDER, epochs, [wanted]) for _ in range(4))
    )
    assert sorted(len(answer.made) for answer in answers) == [0, 0, 0, 1]
    assert await other.fetchval("SELECT count(*) FROM dispatch") == 1


async def test_the_watermark_never_goes_back(ground: Ground, other: asyncpg.Connection) -> None:
    epochs = await ground.all_leases(HOLDER)
    for mark in (START, START - timedelta(seconds=5), None):
        await ground.leases.renew(HOLDER, epochs, mark, 10)
    marks = await other.fetch("SELECT DISTINCT watermark FROM leases")
    assert [lease["watermark"] for lease in marks] == [START]


async def test_an_unknown_holder_gives_up_nothing(
    ground: Ground, other: asyncpg.Connection
) -> None:
    epochs = await ground.all_leases(HOLDER)
    await ground.leases.release(uuid4(), epochs)
    await ground.leases.release(
        HOLDER, {partition: epoch + 1 for partition, epoch in epochs.items()}
    )
    assert await other.fetchval("SELECT count(holder) FROM partitions") == 256


async def test_whoever_lines_up_at_a_gate_waits_for_an_end_that_gives_back_a_permit(
    ground: Ground, other: asyncpg.Connection
) -> None:
    await ground.rows.add_job(JOB, msgspec.structs.replace(SPEC, overlap="allow", max_running=1))
    epochs = await ground.all_leases(HOLDER)
    claims = [claim(JOB, START + timedelta(seconds=number)) for number in range(2)]
    first, second = (await ground.agenda.claim(HOLDER, epochs, claims)).waiting
    await ground.admit(HOLDER, epochs, [first])
    [lined_up] = decide([second], await ground.facts([second]))
    assert lined_up.line is not None
    async with other.transaction():
        await other.execute("SELECT give_back(array[$1::uuid])", first.run_id)
        carried_out = asyncio.create_task(ground.room.carry_out(HOLDER, epochs, [lined_up]))
        await is_blocked(other)
    done = await carried_out
    lines = await ground.room.gate_lines(done.gates, 9)  # what the hint of `gates` leads to
    assert [run.run_id for run in lines.first(epochs)] == [second.run_id]
