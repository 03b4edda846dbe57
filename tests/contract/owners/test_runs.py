"""What owners do to single runs, on memory and on PostgreSQL."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
import pytest
from structlog.testing import capture_logs
from tests.contract.ports.ground import SPEC, START, Ground, Row, claim

from matins.domain.executors.protocol import End, Ending, Heartbeat, Poll
from matins.domain.jobs.authors import Author
from matins.domain.jobs.targets import CommandTarget, HttpTarget, Target
from matins.domain.runs.attempts import Attempt, Result
from matins.domain.runs.claims import BEGINNING
from matins.domain.runs.fingerprint import failure_of
from matins.domain.runs.inputs import RunInput
from matins.domain.runs.states import Outcome, RunState
from matins.domain.values.errors import ConflictError, InvalidInputError, NotFoundError
from matins.domain.values.ids import PARTITIONS
from matins.kernel.metrics import RUNS_DEAD

TEAM = "default"
EXECUTOR = UUID(int=7)
REFUSED = Result(
    Outcome.FAILED, "exit code 1", output="Traceback:\norder 4711 refused\n", exit_code=1
)


async def test_two_runs_triggered_at_once_are_due_a_millisecond_apart(ground: Ground) -> None:
    job = (await ground.owners.jobs.put(TEAM, SPEC)).job
    for _ in range(2):
        assert (await ground.owners.runs.trigger(TEAM, "job")).state is RunState.QUEUED
    rows = await ground.rows.runs(job.id)
    assert rows == [Row(due_s, "queued", kind="manual") for due_s in (0.0, 0.001)]


async def test_a_paused_job_can_be_triggered_and_a_deleted_one_not(ground: Ground) -> None:
    await ground.owners.jobs.put(TEAM, SPEC)
    await ground.owners.jobs.pause(TEAM, "job")
    await ground.owners.runs.trigger(TEAM, "job")
    await ground.owners.jobs.delete(TEAM, "job")
    with pytest.raises(NotFoundError, match="no job 'job'"):
        await ground.owners.runs.trigger(TEAM, "job")


async def test_a_run_that_waits_is_cancelled_once(ground: Ground) -> None:
    await ground.owners.jobs.put(TEAM, SPEC)
    run = (await ground.owners.runs.trigger(TEAM, "job")).id
    cancelled = await ground.owners.runs.cancel(run)
    assert (cancelled.state, cancelled.reason) == (RunState.CANCELLED, "cancelled by its owner")
    with pytest.raises(ConflictError, match="it is cancelled"):
        await ground.owners.runs.cancel(run)


async def test_a_run_that_goes_on_is_asked_to_end(ground: Ground) -> None:
    await ground.owners.jobs.put(TEAM, SPEC)
    run = (await ground.owners.runs.trigger(TEAM, "job")).id
    await ground.dispatch.heartbeat(Heartbeat(EXECUTOR, "e", ["default"], 9, 1))
    assert await ground.dispatch.dequeue(Poll(EXECUTOR, 1, ["default"], 1), "default")
    assert (await ground.owners.runs.cancel(run)).state is RunState.RUNNING
    [running] = await ground.dispatch.running_runs(EXECUTOR, [run])
    assert running.tried.cancel_requested


@pytest.mark.parametrize("run", [UUID(int=1), UUID("019ad000-0000-8000-8000-000000000000")])
async def test_there_is_no_run_by_any_other_id(ground: Ground, run: UUID) -> None:
    with pytest.raises(NotFoundError, match="there is no run"):
        await ground.owners.runs.cancel(run)


COMMAND = msgspec.structs.replace(SPEC, target=Target(command=CommandTarget(["tidy"], {"A": "1"})))
GIVEN = RunInput(args=["--all"], env={"B": "2"})


async def handed_out(ground: Ground, seq: int) -> list[Attempt]:
    """Return what an executor gets by a poll."""
    await ground.dispatch.heartbeat(Heartbeat(EXECUTOR, "e", ["default"], 9, seq))
    handout = await ground.dispatch.dequeue(Poll(EXECUTOR, seq, ["default"], 9), "default")
    return handout.attempts if handout else []


async def test_every_attempt_of_a_run_gets_its_input_and_no_other_run_does(
    ground: Ground,
) -> None:
    await ground.owners.jobs.put(TEAM, COMMAND)
    run = (await ground.owners.runs.trigger(TEAM, "job", GIVEN)).id
    changed = Target(command=CommandTarget(["tidy", "--all"], {"A": "1", "B": "2"}))
    [attempt] = await handed_out(ground, 1)
    assert (attempt.run_id, attempt.target) == (run, changed)
    repeat = Poll(EXECUTOR, 1, ["default"], 9, repeat=True)
    found = await ground.dispatch.find_handout(repeat)
    assert found is not None
    assert [attempt.target for attempt in found.attempts] == [changed]
    lost = End(run, 1, Result(Outcome.FAILED, "why"))
    await ground.dispatch.record(EXECUTOR, [Ending(lost, RunState.RETRYING, "why", 0.0)])
    epochs = await ground.all_leases(UUID(int=5))
    ground.clock.move(1)
    await ground.admit(UUID(int=5), epochs, await ground.waiting())
    await ground.owners.runs.trigger(TEAM, "job")
    retried, plain = sorted(
        await handed_out(ground, 2), key=lambda attempt: attempt.number, reverse=True
    )
    assert (retried.run_id, retried.number, retried.target) == (run, 2, changed)
    assert plain.target == COMMAND.target


async def test_an_input_that_is_none_for_the_job_makes_no_run(ground: Ground) -> None:
    job = (await ground.owners.jobs.put(TEAM, SPEC)).job
    with pytest.raises(InvalidInputError, match="args: is nothing of a http target"):
        await ground.owners.runs.trigger(TEAM, "job", GIVEN, key="a")
    assert await ground.rows.runs(job.id) == []
    await ground.owners.runs.trigger(TEAM, "job", RunInput(body="x"), key="a")
    assert len(await ground.rows.runs(job.id)) == 1


async def test_a_run_whose_job_has_got_another_kind_of_target_is_dead(ground: Ground) -> None:
    job = (await ground.owners.jobs.put(TEAM, COMMAND)).job
    await ground.owners.runs.trigger(TEAM, "job", GIVEN)
    http = Target(http=HttpTarget(url="http://127.0.0.1:9/"))
    await ground.owners.jobs.put(TEAM, msgspec.structs.replace(COMMAND, target=http))
    before = RUNS_DEAD._value.get()
    with capture_logs() as logs:
        assert await handed_out(ground, 1) == []
    [row] = await ground.rows.runs(job.id)
    assert (row.state, "does not fit" in row.reason) == ("dead", True)
    assert RUNS_DEAD._value.get() == before + 1
    [line] = [entry for entry in logs if entry["event"] == "runs.dead"]
    assert line["reason"] == row.reason


async def test_a_key_stands_for_one_run_of_one_job(ground: Ground) -> None:
    jobs = [msgspec.structs.replace(COMMAND, name=name) for name in ("job", "other")]
    ids = [(await ground.owners.jobs.put(TEAM, spec)).job.id for spec in jobs]
    trigger = ground.owners.runs.trigger
    first = await trigger(TEAM, "job", GIVEN, key="monday")
    ground.clock.move(60)
    await handed_out(ground, 1)
    again = await trigger(TEAM, "job", GIVEN, key="monday")
    assert (again.id, again.state) == (first.id, RunState.RUNNING)
    with pytest.raises(InvalidInputError, match=f"used for run {first.id} with other content"):
        await trigger(TEAM, "job", key="monday")
    with pytest.raises(InvalidInputError, match="with other content"):
        await trigger(TEAM, "job", GIVEN, key="monday", allow_overlap=True)
    assert (await trigger(TEAM, "job", GIVEN, key="tuesday")).id != first.id
    assert (await trigger(TEAM, "other", GIVEN, key="monday")).id != first.id
    assert [len(await ground.rows.runs(job_id)) for job_id in ids] == [2, 1]


async def test_of_triggers_with_one_key_at_once_one_makes_the_run(ground: Ground) -> None:
    job = (await ground.owners.jobs.put(TEAM, COMMAND)).job
    calls = [ground.owners.runs.trigger(TEAM, "job", GIVEN, key="k") for _ in range(8)]
    assert len({run.id for run in await asyncio.gather(*calls)}) == 1
    assert len(await ground.rows.runs(job.id)) == 1


async def test_a_key_is_kept_for_a_day(ground: Ground) -> None:
    await ground.owners.jobs.put(TEAM, COMMAND)
    first = await ground.owners.runs.trigger(TEAM, "job", key="k")
    assert await ground.leftovers.delete_trigger_keys(START, 9) == 0
    later = START + timedelta(seconds=1)
    assert await ground.leftovers.delete_trigger_keys(later, 9) == 1
    ground.clock.move(1)
    assert (await ground.owners.runs.trigger(TEAM, "job", key="k")).id != first.id


async def test_a_trigger_neither_shifts_nor_eats_the_next_slot(ground: Ground) -> None:
    made = (await ground.owners.jobs.put(TEAM, SPEC)).job
    next_due = made.next_due_at
    assert next_due is not None
    ground.clock.move((next_due - START).total_seconds())
    await ground.owners.runs.trigger(TEAM, "job")  # due in the very same millisecond
    [found] = await ground.agenda.find_jobs([made.id])
    assert (found.revision, found.next_due_at) == (made.revision, next_due)
    epochs = await ground.all_leases(UUID(int=5))
    answer = await ground.agenda.claim(UUID(int=5), epochs, [claim(made.id, next_due)])
    assert len(answer.made) == 1
    rows = await ground.rows.runs(made.id)
    assert [(row.due_s, row.kind) for row in rows] == [(60.0, "manual"), (60.0, "scheduled")]


async def failed(ground: Ground, *, retry_in_s: float = 600.0) -> UUID:
    """Return a run of the job that waits for its second attempt."""
    await ground.owners.jobs.put(TEAM, SPEC)
    run = (await ground.owners.runs.trigger(TEAM, "job")).id
    await handed_out(ground, 1)
    ending = Ending(End(run, 1, REFUSED), RunState.RETRYING, "exit code 1", retry_in_s)
    await ground.dispatch.record(EXECUTOR, [ending])
    return run


async def asked_about(ground: Ground, run: UUID) -> list[datetime]:
    """Return when a run is to be asked about, up to now."""
    after = dict.fromkeys(range(PARTITIONS), BEGINNING)
    room = await ground.room.load_waiting(after, ground.clock.now(), 9)
    return [waiting.ready_at for waiting in room if waiting.run_id == run]


async def test_a_run_that_is_to_be_tried_again_is_so_now(ground: Ground) -> None:
    run = await failed(ground)
    ground.clock.move(5)
    assert await asked_about(ground, run) == []
    hurried = await ground.owners.runs.retry_now(run)
    assert (hurried.state, hurried.retry_at) == (RunState.RETRYING, ground.clock.now())
    assert await asked_about(ground, run) == [ground.clock.now()]


async def test_a_retry_that_is_due_already_is_not_put_off(ground: Ground) -> None:
    run = await failed(ground, retry_in_s=1)
    ground.clock.move(1)
    due = ground.clock.now()
    ground.clock.move(5)
    for _ in range(2):
        assert (await ground.owners.runs.retry_now(run)).retry_at == due
    assert await asked_about(ground, run) == [due]


async def test_a_run_whose_place_was_lost_gets_one_when_it_is_to_be_tried_now(
    ground: Ground,
) -> None:
    run = await failed(ground)
    assert await ground.rows.lose_wait(run)
    await ground.owners.runs.retry_now(run)
    assert await asked_about(ground, run) == [ground.clock.now()]


async def test_a_run_that_is_not_to_be_tried_again_is_a_dead_letter(ground: Ground) -> None:
    run = await failed(ground)
    ground.clock.move(5)
    author = Author("ci", "the file is wrong")
    stopped = await ground.owners.runs.stop_retrying(run, author)
    told = "not to be tried again, says ci: the file is wrong; at last: exit code 1"
    assert (stopped.state, stopped.reason) == (RunState.DEAD, told)
    assert (stopped.finished_at, stopped.retry_at) == (ground.clock.now(), None)
    [letter] = await ground.rows.letters()
    assert (letter.run, letter.error) == (run, "exit code 1: order 4711 refused")
    assert letter.fingerprint == failure_of(REFUSED).fingerprint
    ground.clock.move(3600)
    assert await asked_about(ground, run) == []
    assert (await ground.owners.runs.replay(run)).state is RunState.RETRYING


async def test_only_a_run_between_two_attempts_is_hurried_or_stopped(ground: Ground) -> None:
    await ground.owners.jobs.put(TEAM, SPEC)
    run = (await ground.owners.runs.trigger(TEAM, "job")).id
    runs = ground.owners.runs
    for work in (runs.retry_now, runs.stop_retrying):
        with pytest.raises(ConflictError, match="no further attempt: it is queued; cancel it"):
            await work(run)
        with pytest.raises(NotFoundError, match="there is no run"):
            await work(UUID(int=1))
    await handed_out(ground, 1)
    end = End(run, 1, Result(Outcome.FAILED, "exit code 1"))
    await ground.dispatch.record(EXECUTOR, [Ending(end, RunState.DEAD, "exit code 1")])
    for work in (runs.retry_now, runs.stop_retrying):
        with pytest.raises(ConflictError, match="it is dead; replay it"):
            await work(run)


async def test_a_reason_that_nobody_reads_to_its_end_is_refused(ground: Ground) -> None:
    run = await failed(ground)
    with pytest.raises(InvalidInputError, match="reason"):
        await ground.owners.runs.stop_retrying(run, Author("ci", "x" * 501))
