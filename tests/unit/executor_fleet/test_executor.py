"""What an executor does while it lives, when it is cut off, cancelled, lost, and stopped.

All in virtual time, over a gateway in memory.
"""

from __future__ import annotations

import pytest
from tests.unit.executor_fleet.bench import Bench, at_work, virtual

from matins.domain.runs.states import Outcome, RunState
from matins.domain.values.errors import UnauthorizedError


@virtual
async def test_runs_are_taken_run_and_reported() -> None:
    async with at_work(Bench()) as bench:
        runs = bench.rows.enqueue(100)
        await bench.until(lambda: bench.rows.states() == {RunState.SUCCEEDED: 100})
        assert sorted(bench.runner.started) == sorted((run, 1) for run in runs)


@virtual
async def test_no_more_is_asked_for_than_there_are_free_slots() -> None:
    async with at_work(Bench(slots=10)) as bench:
        bench.runner.lasts_s = 5.0
        bench.rows.enqueue(50)
        await bench.until(lambda: len(bench.runner.running) == 10)
        assert bench.rows.states()[RunState.RUNNING] == 10
        await bench.until(lambda: bench.rows.states() == {RunState.SUCCEEDED: 50})


@virtual
async def test_up_to_three_polls_share_the_free_slots() -> None:
    async with at_work(Bench(slots=100)) as bench:
        await bench.until(lambda: len(bench.link.polls) == 3)
        assert [poll.free for poll in bench.link.polls] == [33, 33, 34]
        assert [poll.seq for poll in bench.link.polls] == [1, 2, 3]


@virtual
async def test_it_heartbeats_before_it_polls_and_then_every_heartbeat_s() -> None:
    async with at_work(Bench()) as bench:
        bench.link.away = {"heartbeat"}
        await bench.clock.sleep(10)
        assert not bench.link.polls
        bench.link.away = set()
        await bench.until(lambda: bool(bench.link.polls))
        before = len(bench.link.heartbeats)
        await bench.clock.sleep(30)
        assert len(bench.link.heartbeats) - before == 10


@virtual
async def test_a_heartbeat_names_all_that_is_held() -> None:
    async with at_work(Bench()) as bench:
        bench.runner.lasts_s = 10.0
        runs = bench.rows.enqueue(2)
        await bench.until(lambda: len(bench.runner.running) == 2)
        before = len(bench.link.heartbeats)
        await bench.until(lambda: len(bench.link.heartbeats) > before)
        heartbeat = bench.link.heartbeats[-1]
        assert sorted(heartbeat.held) == sorted((run, 1) for run in runs)
        assert heartbeat.open == [1]
        assert set(heartbeat.awaiting) == set(range(2, heartbeat.next_seq))


@virtual
async def test_gw05_a_lost_poll_answer_is_asked_for_again_and_nothing_is_lost() -> None:
    async with at_work(Bench()) as bench:
        await bench.until(lambda: bool(bench.link.polls))
        bench.link.deaf = {"poll"}
        runs = bench.rows.enqueue(5)
        await bench.until(lambda: bench.rows.states() == {RunState.RUNNING: 5})
        await bench.clock.sleep(12)
        assert bench.rows.states() == {RunState.RUNNING: 5}
        bench.link.deaf = set()
        took_s = await bench.until(lambda: bench.rows.states() == {RunState.SUCCEEDED: 5})
        assert took_s <= 5.1
        assert sorted(bench.runner.started) == sorted((run, 1) for run in runs)
        assert {poll.seq for poll in bench.link.polls if poll.repeat} <= {1, 2, 3}


@virtual
async def test_gw09_a_lost_report_answer_is_repeated_and_changes_nothing() -> None:
    async with at_work(Bench()) as bench:
        bench.link.deaf = {"report"}
        bench.rows.enqueue(5)
        await bench.until(lambda: bench.rows.states() == {RunState.SUCCEEDED: 5})
        ends = dict(bench.rows.ends)
        await bench.until(lambda: len(bench.link.reports) > 3)
        bench.link.deaf = set()
        await bench.until(lambda: not bench.link.heartbeats[-1].held)
        assert bench.rows.ends == ends
        assert len(bench.runner.started) == 5


@virtual
async def test_ends_are_kept_while_the_gateway_is_away() -> None:
    async with at_work(Bench()) as bench:
        bench.rows.enqueue(5)
        bench.runner.lasts_s = 1.0
        await bench.until(lambda: len(bench.runner.running) == 5)
        bench.link.away = {"poll", "report", "heartbeat"}
        await bench.clock.sleep(20)
        assert bench.rows.states() == {RunState.RUNNING: 5}
        bench.link.away = set()
        took_s = await bench.until(lambda: bench.rows.states() == {RunState.SUCCEEDED: 5})
        assert took_s <= 5.1


@virtual
async def test_a_cancelled_attempt_is_ended_and_reported_as_cancelled() -> None:
    async with at_work(Bench()) as bench:
        bench.runner.lasts_s = 600.0
        [run] = bench.rows.enqueue()
        await bench.until(lambda: bool(bench.runner.running))
        bench.rows.runs[run].cancel = True
        took_s = await bench.until(lambda: bench.rows.states() == {RunState.CANCELLED: 1})
        assert took_s < 2 * bench.settings.heartbeat_s
        assert bench.rows.ends[run, 1].end.result.outcome is Outcome.CANCELLED


@virtual
async def test_a_superseded_attempt_is_ended_and_not_reported() -> None:
    async with at_work(Bench()) as bench:
        bench.runner.lasts_s = 600.0
        [run] = bench.rows.enqueue()
        await bench.until(lambda: bool(bench.runner.running))
        bench.rows.runs[run].executor = None
        await bench.until(lambda: not bench.runner.running)
        await bench.until(lambda: not bench.link.heartbeats[-1].held)
        assert not bench.link.reports


@virtual
async def test_an_error_of_a_runner_fails_the_attempt_and_nothing_else() -> None:
    async with at_work(Bench()) as bench:
        bench.runner.error = ValueError("broken")
        [run] = bench.rows.enqueue()
        await bench.until(lambda: bool(bench.rows.ends))
        result = bench.rows.ends[run, 1].end.result
        assert (result.outcome, "ValueError: broken" in result.reason) == (Outcome.FAILED, True)


@virtual
async def test_a_lost_incarnation_stops_everything_and_begins_again() -> None:
    async with at_work(Bench()) as bench:
        bench.runner.lasts_s = 600.0
        bench.rows.enqueue(3)
        await bench.until(lambda: len(bench.runner.running) == 3)
        first = bench.link.heartbeats[-1].executor
        bench.rows.ended.add(first)
        await bench.until(lambda: not bench.runner.running)
        await bench.until(lambda: bench.link.heartbeats[-1].executor != first)
        assert not bench.link.reports
        assert bench.link.heartbeats[-1].next_seq == 1
        bench.runner.lasts_s = 0
        bench.rows.enqueue()
        await bench.until(lambda: bench.rows.states()[RunState.SUCCEEDED] == 1)


@virtual
async def test_an_unknown_poll_begins_a_new_incarnation_too() -> None:
    async with at_work(Bench()) as bench:
        await bench.until(lambda: bool(bench.link.polls))
        first = bench.link.heartbeats[-1].executor
        bench.rows.ended.add(first)
        bench.rows.enqueue()
        await bench.until(lambda: bench.rows.states() == {RunState.SUCCEEDED: 1})
        assert bench.rows.ends.keys() == {(run, 1) for run in bench.rows.runs}


@virtual
async def test_gw23_without_an_answered_heartbeat_for_t1_everything_is_ended() -> None:
    async with at_work(Bench()) as bench:
        bench.runner.lasts_s = 600.0
        bench.rows.enqueue(3)
        await bench.until(lambda: len(bench.runner.running) == 3)
        bench.link.away = {"heartbeat"}
        took_s = await bench.until(lambda: not bench.runner.running)
        cut_off_s = bench.settings.cut_off_s
        assert cut_off_s - bench.settings.heartbeat_s - 0.1 <= took_s <= cut_off_s + 0.1
        await bench.until(lambda: bench.rows.states()[RunState.RETRYING] == 3)
        reasons = {ending.end.result.reason for ending in bench.rows.ends.values()}
        assert reasons == {"executor could not reach the gateway for 30 s"}
        assert {ending.end.result.outcome for ending in bench.rows.ends.values()} == {Outcome.LOST}


@virtual
async def test_nothing_new_is_started_while_cut_off() -> None:
    async with at_work(Bench()) as bench:
        await bench.until(lambda: bool(bench.link.polls))
        bench.link.away = {"heartbeat"}
        await bench.clock.sleep(bench.settings.cut_off_s + 1)
        bench.rows.enqueue(3)
        await bench.clock.sleep(30)
        assert not bench.runner.started
        bench.link.away = set()
        await bench.until(lambda: bench.rows.states() == {RunState.SUCCEEDED: 3})


@virtual
async def test_it_is_ready_while_it_is_in_touch() -> None:
    bench = Bench()
    assert not bench.executor.is_ready()
    async with at_work(bench):
        await bench.until(bench.executor.is_ready)
        bench.link.away = {"heartbeat"}
        await bench.clock.sleep(bench.settings.cut_off_s + 1)
        assert not bench.executor.is_ready()
        bench.link.away = set()
        await bench.until(bench.executor.is_ready)


@virtual
async def test_contact_is_told_with_the_time_at_which_the_heartbeat_was_sent() -> None:
    async with at_work(Bench()) as bench:
        await bench.clock.sleep(10)
        assert [round(at) for at in bench.contacts] == [0, 3, 6, 9]


@virtual
async def test_ex10_stopping_lets_short_attempts_end_and_takes_no_new_ones() -> None:
    bench = Bench()
    async with at_work(bench):
        bench.runner.lasts_s = 10.0
        bench.rows.enqueue(3)
        await bench.until(lambda: len(bench.runner.running) == 3)
        await bench.executor.stop()
        await bench.clock.sleep(1)
        bench.rows.enqueue(2)
    assert bench.rows.states() == {RunState.SUCCEEDED: 3, RunState.QUEUED: 2}
    assert bench.link.heartbeats[-1].stopped
    assert bench.runner.is_closed


@virtual
async def test_ex10_stopping_ends_long_attempts_as_lost_once_they_were_waited_for() -> None:
    bench = Bench()
    async with at_work(bench):
        bench.runner.lasts_s = 600.0
        [run] = bench.rows.enqueue()
        await bench.until(lambda: bool(bench.runner.running))
        began = bench.clock.elapsed_s()
    assert bench.settings.drain_s <= bench.clock.elapsed_s() - began <= bench.settings.drain_s + 2
    result = bench.rows.ends[run, 1].end.result
    assert (result.outcome, result.reason) == (Outcome.LOST, "executor shut down")
    assert bench.link.heartbeats[-1].stopped


@virtual
async def test_ex10_an_attempt_that_does_not_end_when_told_to_is_cut() -> None:
    bench = Bench()
    async with at_work(bench):
        bench.runner.lasts_s, bench.runner.is_deaf = 600.0, True
        [run] = bench.rows.enqueue()
        await bench.until(lambda: bool(bench.runner.running))
    assert bench.rows.ends[run, 1].end.result.outcome is Outcome.LOST
    assert not bench.runner.running


@virtual
async def test_ex10_stopping_is_bounded_even_with_the_gateway_away() -> None:
    bench = Bench()
    async with at_work(bench):
        bench.runner.lasts_s = 600.0
        bench.rows.enqueue(3)
        await bench.until(lambda: len(bench.runner.running) == 3)
        bench.link.away = {"poll", "report", "heartbeat"}
        began = bench.clock.elapsed_s()
    assert bench.clock.elapsed_s() - began < bench.settings.drain_s + 30
    assert not bench.runner.running


@virtual
async def test_a_poll_given_up_at_the_stop_leaves_nothing_behind() -> None:
    bench = Bench()
    async with at_work(bench):
        await bench.until(lambda: bool(bench.link.polls))
        bench.link.deaf = {"poll"}
        bench.rows.enqueue(3)
        await bench.until(lambda: bench.rows.states() == {RunState.RUNNING: 3})
    assert bench.rows.states() == {RunState.QUEUED: 3}
    assert {row.attempt for row in bench.rows.runs.values()} == {0}


@virtual
async def test_a_wrong_token_ends_the_executor_at_once() -> None:
    bench = Bench()
    bench.link.refusal = UnauthorizedError("wrong token")
    with pytest.raises(ExceptionGroup) as caught:
        await bench.executor.run()
    assert caught.group_contains(UnauthorizedError)


@virtual
async def test_a_token_that_is_refused_later_is_waited_out() -> None:
    async with at_work(Bench()) as bench:
        await bench.until(lambda: bool(bench.link.polls))
        bench.link.refusal = UnauthorizedError("changed for a moment")
        await bench.clock.sleep(10)
        bench.link.refusal = None
        bench.rows.enqueue()
        await bench.until(lambda: bench.rows.states() == {RunState.SUCCEEDED: 1})
