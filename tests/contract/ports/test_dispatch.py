"""Dispatch: handed out once, recorded once, and what was lost on the way comes back."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import msgspec
import pytest
from tests.contract.ports.ground import SPEC, START, Ground, claim
from tests.ids import numbered

from matins.domain.executors.protocol import End, Ending, Handout, Heartbeat, Poll
from matins.domain.jobs.retry import RetryPolicy
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.runs.attempts import Result
from matins.domain.runs.claims import BEGINNING
from matins.domain.runs.states import Outcome, RunState
from matins.domain.values.ids import partition_of

HOLDER, EXECUTOR, JOB, STRANGER = (numbered(number) for number in range(1, 5))
DONE = Result(Outcome.SUCCEEDED, output="fine")
COMMAND = Target(command=CommandTarget(["true"]))
BAD = Result(Outcome.FAILED, "exit code 1", exit_code=1)


async def queue(ground: Ground, count: int) -> list[UUID]:
    """So many queued runs of one job; gives their ids in the order of their due times."""
    await ground.rows.add_job(JOB, SPEC)
    epochs = await ground.all_leases(HOLDER)
    claims = [claim(JOB, START + timedelta(minutes=n)) for n in range(count)]
    for due_claim in claims:  # one statement each: within one, the order is nobody's promise
        await ground.agenda.claim(HOLDER, epochs, [due_claim])
        ground.clock.move(0.001)
    return [claim.run_id for claim in claims]


async def register(ground: Ground, executor: UUID = EXECUTOR) -> None:
    await ground.dispatch.heartbeat(Heartbeat(executor, "e", ["default"], 9, 1))


async def dequeue(ground: Ground, seq: int, free: int = 9, executor: UUID = EXECUTOR) -> Handout:
    poll = Poll(executor, seq, ["default"], free)
    return await ground.dispatch.dequeue(poll, "default") or Handout()


def ids(handout: Handout | None) -> set[UUID]:
    assert handout is not None
    return {attempt.run_id for attempt in handout.attempts}


async def test_what_was_queued_first_is_handed_out_first(ground: Ground) -> None:
    runs = await queue(ground, 3)
    await register(ground)
    assert ids(await dequeue(ground, 1, 2)) == set(runs[:2])
    assert ids(await dequeue(ground, 2, 2)) == set(runs[2:])
    assert ids(await dequeue(ground, 3, 2)) == set()


async def test_an_attempt_tells_all_that_its_target_needs(ground: Ground) -> None:
    [run] = await queue(ground, 1)
    await register(ground)
    [attempt] = (await dequeue(ground, 1)).attempts
    assert (attempt.run_id, attempt.number, attempt.due_at) == (run, 1, START)
    assert (attempt.team, attempt.target, attempt.timeout_s) == ("default", SPEC.target, 600)
    assert attempt.started_at == ground.clock.now()


async def test_an_executor_that_never_heartbeat_gets_nothing(ground: Ground) -> None:
    await queue(ground, 1)
    assert (await dequeue(ground, 1)).unknown


async def test_a_poll_asked_twice_is_answered_the_same(ground: Ground) -> None:
    await queue(ground, 3)
    await register(ground)
    first = await dequeue(ground, 1, 2)
    assert ids(await dequeue(ground, 1, 2)) == ids(first)
    assert ids(await ground.dispatch.find_handout(Poll(EXECUTOR, 1, ["default"], 2))) == ids(first)


async def test_a_poll_that_got_nothing_left_no_trace(ground: Ground) -> None:
    await register(ground)
    await dequeue(ground, 1)
    assert await ground.dispatch.find_handout(Poll(EXECUTOR, 1, ["default"], 2)) is None


async def test_success_is_recorded_once(ground: Ground) -> None:
    [run] = await queue(ground, 1)
    await register(ground)
    await dequeue(ground, 1)
    ending = Ending(End(run, 1, DONE), RunState.SUCCEEDED)
    [recorded] = await ground.dispatch.record(EXECUTOR, [ending])
    status = recorded.status
    assert (status.id, status.state, status.attempt) == (run, RunState.SUCCEEDED, 1)
    assert status.finished_at == ground.clock.now()
    assert await ground.dispatch.record(EXECUTOR, [ending]) == []
    assert await ground.dispatch.which_recorded([(run, 1), (run, 2)]) == {run}


async def test_an_end_of_another_attempt_or_executor_changes_nothing(ground: Ground) -> None:
    [run] = await queue(ground, 1)
    await register(ground)
    await dequeue(ground, 1)
    assert (
        await ground.dispatch.record(EXECUTOR, [Ending(End(run, 2, DONE), RunState.SUCCEEDED)])
        == []
    )
    ending = Ending(End(run, 1, DONE), RunState.SUCCEEDED)
    assert await ground.dispatch.record(STRANGER, [ending]) == []
    [still] = await ground.dispatch.running_runs(EXECUTOR, [run])
    assert still.tried.attempt == 1
    assert still.policy == SPEC.retry


async def test_a_retry_waits_for_its_time_and_is_promoted_once(ground: Ground) -> None:
    [run] = await queue(ground, 1)
    await register(ground)
    await dequeue(ground, 1)
    ending = Ending(End(run, 1, BAD), RunState.RETRYING, "exit code 1", 10.0)
    [recorded] = await ground.dispatch.record(EXECUTOR, [ending])
    status = recorded.status
    assert (status.state, status.retry_at) == (
        RunState.RETRYING,
        ground.clock.now() + timedelta(seconds=10),
    )
    epochs = await ground.leases.acquire(HOLDER, 0, 1) or {partition_of(JOB): 1}
    assert await ground.waiting(JOB) == []
    ground.clock.move(10)
    retries = await ground.waiting(JOB)
    assert [retry.run_id for retry in retries] == [run]
    assert (await ground.admit(HOLDER, epochs, retries)).refused == set()
    assert (await ground.admit(HOLDER, epochs, retries)).refused == set()
    [attempt] = (await dequeue(ground, 2)).attempts
    assert (attempt.run_id, attempt.number) == (run, 2)
    assert ids(await dequeue(ground, 3)) == set()


@pytest.mark.parametrize(("target", "attempts"), [(SPEC.target, 3), (COMMAND, 1)])
async def test_how_a_run_stands_is_told_with_a_policy_that_is_complete(
    ground: Ground, target: Target, attempts: int
) -> None:
    [run] = await queue(ground, 1)
    policy = RetryPolicy(lost=9, give_up_after="1h")
    await ground.rows.respec(JOB, msgspec.structs.replace(SPEC, target=target, retry=policy))
    await register(ground)
    ground.clock.move(40)
    await dequeue(ground, 1)
    ground.clock.move(2)
    [running] = await ground.dispatch.running_runs(EXECUTOR, [run])
    assert running.policy == msgspec.structs.replace(policy, attempts=attempts)
    assert round(running.tried.age_s, 2) == 42
    await ground.watch.declare_lost(EXECUTOR, (await ground.watch.executors())[0].heartbeat_at)
    assert await ground.watch.abandoned_runs(9) == [(EXECUTOR, [running])]


async def test_a_retry_is_not_promoted_without_the_lease(ground: Ground) -> None:
    [run] = await queue(ground, 1)
    await register(ground)
    await dequeue(ground, 1)
    await ground.dispatch.record(EXECUTOR, [Ending(End(run, 1, BAD), RunState.RETRYING, "", 0.0)])
    retries = await ground.waiting(JOB)
    refused = (await ground.admit(STRANGER, {partition_of(JOB): 1}, retries)).refused
    assert refused == {partition_of(JOB)}
    assert ids(await dequeue(ground, 2)) == set()


async def test_a_cancel_wins_over_a_retry_decided_meanwhile(ground: Ground) -> None:
    [run] = await queue(ground, 1)
    await register(ground)
    await dequeue(ground, 1)
    await ground.rows.cancel(run)
    ending = Ending(End(run, 1, BAD), RunState.RETRYING, "exit code 1", 10.0)
    [recorded] = await ground.dispatch.record(EXECUTOR, [ending])
    status = recorded.status
    assert (status.state, status.retry_at) == (RunState.CANCELLED, None)
    later = ground.clock.now() + timedelta(hours=1)
    own = {partition_of(JOB): BEGINNING}
    assert await ground.room.load_waiting(own, later, 9) == []


async def test_a_run_of_a_job_that_was_deleted_does_not_begin_and_holds_up_no_other(
    ground: Ground,
) -> None:
    [run] = await queue(ground, 1)
    await register(ground)
    await ground.rows.delete(JOB)
    assert ids(await dequeue(ground, 1)) == ids(await dequeue(ground, 2)) == set()
    assert await ground.dispatch.which_recorded([(run, 1)]) == {run}
    assert await ground.dispatch.running_runs(EXECUTOR, [run]) == []


async def test_a_hand_out_that_never_arrived_goes_back_with_its_attempt_unused(
    ground: Ground,
) -> None:
    [run] = await queue(ground, 1)
    await register(ground)
    await dequeue(ground, 1)
    await ground.dispatch.heartbeat(Heartbeat(EXECUTOR, "e", ["default"], 9, next_seq=2))
    [attempt] = (await dequeue(ground, 2)).attempts
    assert (attempt.run_id, attempt.number) == (run, 1)


async def test_a_hand_out_that_is_awaited_open_or_newer_than_the_heartbeat_stays(
    ground: Ground,
) -> None:
    await queue(ground, 3)
    await register(ground)
    for seq in (1, 2, 3):
        await dequeue(ground, seq, 1)
    await ground.dispatch.heartbeat(
        Heartbeat(EXECUTOR, "e", ["default"], 9, 3, awaiting=[1], open=[2])
    )
    assert ids(await dequeue(ground, 4)) == set()


async def test_polls_that_are_awaited_or_open_can_still_be_taken_for(ground: Ground) -> None:
    awaited, opened = await queue(ground, 2)
    await register(ground)
    await ground.dispatch.heartbeat(
        Heartbeat(EXECUTOR, "e", ["default"], 9, 4, awaiting=[1], open=[2])
    )
    assert ids(await dequeue(ground, 1, 1)) == {awaited}
    assert ids(await dequeue(ground, 2, 1)) == {opened}
    assert (await dequeue(ground, 3, 1)).unknown


async def test_a_closed_hand_out_is_forgotten(ground: Ground) -> None:
    [run] = await queue(ground, 1)
    await register(ground)
    await dequeue(ground, 1)
    await ground.dispatch.record(EXECUTOR, [Ending(End(run, 1, DONE), RunState.SUCCEEDED)])
    await ground.dispatch.heartbeat(Heartbeat(EXECUTOR, "e", ["default"], 9, 2, closed=[1]))
    assert await ground.dispatch.find_handout(Poll(EXECUTOR, 1, ["default"], 2)) is None


async def test_a_poll_whose_attempts_have_ended_is_answered_and_takes_nothing_more(
    ground: Ground,
) -> None:
    run, other = await queue(ground, 2)
    await register(ground)
    await dequeue(ground, 1, 1)
    await ground.dispatch.record(EXECUTOR, [Ending(End(run, 1, DONE), RunState.SUCCEEDED)])
    assert await ground.dispatch.dequeue(Poll(EXECUTOR, 1, ["default"], 9), "default") == Handout()
    assert ids(await dequeue(ground, 2)) == {other}
    assert await ground.dispatch.dequeue(Poll(EXECUTOR, 3, ["default"], 9), "default") is None


async def test_a_late_take_for_a_closed_poll_gets_nothing_while_an_older_one_is_open(
    ground: Ground,
) -> None:
    held, ended, waiting = await queue(ground, 3)
    await register(ground)
    for seq in (1, 2):
        await dequeue(ground, seq, 1)
    await ground.dispatch.record(EXECUTOR, [Ending(End(ended, 1, DONE), RunState.SUCCEEDED)])
    picture = Heartbeat(EXECUTOR, "e", ["default"], 9, 3, open=[1], closed=[2], held=[(held, 1)])
    await ground.dispatch.heartbeat(picture)
    forgotten = msgspec.structs.replace(picture, closed=[])
    await ground.dispatch.heartbeat(forgotten)
    assert (await dequeue(ground, 2)).unknown
    await ground.dispatch.heartbeat(picture)  # it was on its way for long, too
    assert (await dequeue(ground, 2)).unknown
    assert ids(await dequeue(ground, 3)) == {waiting}


async def test_a_late_heartbeat_makes_no_poll_open_again(ground: Ground) -> None:
    await queue(ground, 1)
    await register(ground)
    await ground.dispatch.heartbeat(Heartbeat(EXECUTOR, "e", ["default"], 9, 4))
    await ground.dispatch.heartbeat(Heartbeat(EXECUTOR, "e", ["default"], 9, 3, awaiting=[1, 2]))
    for seq in (1, 2, 3):
        assert (await dequeue(ground, seq)).unknown
    assert len(ids(await dequeue(ground, 4))) == 1


async def test_what_is_held_without_right_must_be_stopped(ground: Ground) -> None:
    cancelled, fine = await queue(ground, 2)
    await register(ground)
    await dequeue(ground, 1)
    await ground.rows.cancel(cancelled)
    stranger = claim(STRANGER, START).run_id
    held = [(cancelled, 1), (fine, 1), (fine, 2), (stranger, 1)]
    answer = await ground.dispatch.heartbeat(
        Heartbeat(EXECUTOR, "e", ["default"], 9, 2, open=[1], held=held)
    )
    assert {(stop.run_id, stop.number, stop.why) for stop in answer.stop} == {
        (cancelled, 1, "cancelled"),
        (fine, 2, "superseded"),
        (stranger, 1, "superseded"),
    }


async def test_what_a_lost_executor_held_is_found_until_it_is_recorded(ground: Ground) -> None:
    [run] = await queue(ground, 1)
    await register(ground)
    await dequeue(ground, 1)
    [seen] = await ground.watch.executors()
    assert await ground.watch.abandoned_runs(9) == []
    assert await ground.watch.declare_lost(EXECUTOR, seen.heartbeat_at)
    [(executor, [running])] = await ground.watch.abandoned_runs(9)
    assert (executor, running.run_id, running.tried.attempt) == (EXECUTOR, run, 1)
    await ground.watch.drop_handouts(EXECUTOR)
    assert len(await ground.watch.abandoned_runs(9)) == 1
    lost = Result(Outcome.LOST, "silent")
    ending = Ending(End(run, 1, lost), RunState.RETRYING, "silent", 0.0)
    assert len(await ground.watch.record(EXECUTOR, [ending])) == 1
    await ground.watch.drop_handouts(EXECUTOR)
    assert await ground.watch.abandoned_runs(9) == []
    assert await ground.watch.executors() == []


async def test_who_heartbeat_again_is_not_declared_lost(ground: Ground) -> None:
    await register(ground)
    [seen] = await ground.watch.executors()
    ground.clock.move(1)
    await register(ground)
    assert not await ground.watch.declare_lost(EXECUTOR, seen.heartbeat_at)


async def test_a_lost_executor_hears_so_and_gets_nothing_more(ground: Ground) -> None:
    await queue(ground, 1)
    await register(ground)
    [seen] = await ground.watch.executors()
    await ground.watch.declare_lost(EXECUTOR, seen.heartbeat_at)
    assert (await ground.dispatch.heartbeat(Heartbeat(EXECUTOR, "e", ["default"], 9, 1))).lost
    assert (await dequeue(ground, 1)).unknown


async def test_a_stopped_executor_leaves_nothing_behind(ground: Ground) -> None:
    [run] = await queue(ground, 1)
    await register(ground)
    await dequeue(ground, 1)
    await ground.dispatch.heartbeat(
        Heartbeat(EXECUTOR, "e", ["default"], 9, 2, open=[1], held=[(run, 1)], stopped=True)
    )
    [(_, [running])] = await ground.watch.abandoned_runs(9)
    assert running.run_id == run
    assert (await dequeue(ground, 2)).unknown
