"""What becomes of the ends that executors report."""

from __future__ import annotations

import asyncio
from random import Random
from uuid import UUID, uuid4

import pytest
from structlog.testing import capture_logs
from tests.unit.gateway.rows import Rows, Statuses, until

from matins.domain.executors.protocol import End, Heartbeat, Poll, Report, ReportAnswer
from matins.domain.jobs.retry import Backoff, RetryPolicy
from matins.domain.runs.attempts import Result
from matins.domain.runs.states import Outcome, RunState
from matins.domain.values.errors import BlockedError, UnavailableError
from matins.gateway.report import CACHE_QUEUE_MAX, Recorder
from matins.kernel.metrics import RUNS_DEAD, RUNS_RETRIED, SUPERSEDED
from matins.testing.memory.hints import MemoryHints

OK = Result(Outcome.SUCCEEDED)
BAD = Result(Outcome.FAILED, "exit code 1", exit_code=1)


class Desk:
    """A recorder over rows in memory."""

    def __init__(self) -> None:
        self.rows = Rows()
        self.statuses = Statuses()
        self.recorder = Recorder(self.rows, self.statuses, MemoryHints(), Random(1))
        self.executor = uuid4()
        self.rows.executors[self.executor] = Heartbeat(self.executor, "e", ["default"], 100, 1)
        self._seq = 0

    async def started(self, count: int = 1, policy: RetryPolicy | None = None) -> list[UUID]:
        """Runs that this executor runs."""
        runs = self.rows.enqueue(count)
        self._seq += 1
        for name in runs:
            self.rows.runs[name].policy = policy or RetryPolicy()
        await self.rows.dequeue(Poll(self.executor, self._seq, ["default"], count), "default")
        return runs

    async def report(self, *ends: End, executor: UUID | None = None) -> ReportAnswer:
        return await self.recorder.report(Report(executor or self.executor, list(ends)))

    def state(self, run: UUID) -> RunState:
        return self.rows.runs[run].state


async def test_a_success_is_recorded_without_looking_anything_up() -> None:
    desk = Desk()
    [run] = await desk.started()
    assert await desk.report(End(run, 1, OK)) == ReportAnswer()
    assert desk.state(run) is RunState.SUCCEEDED
    assert desk.rows.calls["running"] == 0


async def test_an_end_whose_run_is_locked_holds_up_no_other() -> None:
    desk = Desk()
    runs = await desk.started(9)
    desk.rows.locked = {runs[4]}
    ends = [End(run, 1, OK) for run in runs]
    with pytest.raises(BlockedError):
        await desk.report(*ends)
    assert [run for run in runs if desk.state(run) is RunState.RUNNING] == [runs[4]]
    desk.rows.locked = set()
    assert await desk.report(*ends) == ReportAnswer()
    assert {desk.state(run) for run in runs} == {RunState.SUCCEEDED}


async def test_a_failure_is_retried_by_the_jobs_policy() -> None:
    desk = Desk()
    policy = RetryPolicy(attempts=2, backoff=Backoff(initial="7s", jitter="none"))
    [run] = await desk.started(policy=policy)
    await desk.report(End(run, 1, BAD))
    assert desk.state(run) is RunState.RETRYING
    assert desk.rows.runs[run].retry_in_s == 7.0


async def test_the_last_failure_is_a_dead_letter() -> None:
    desk = Desk()
    [run] = await desk.started(policy=RetryPolicy(attempts=1))
    await desk.report(End(run, 1, BAD))
    assert desk.state(run) is RunState.DEAD
    assert "exit code 1" in desk.rows.runs[run].reason


async def test_a_policy_decides_by_the_code_what_is_not_tried_again() -> None:
    desk = Desk()
    policy = RetryPolicy(attempts=5, permanent_on=("exit:2",))
    once, again = await desk.started(2, policy=policy)
    await desk.report(
        End(once, 1, Result(Outcome.FAILED, "exit code 2", exit_code=2)),
        End(again, 1, Result(Outcome.FAILED, "exit code 1", exit_code=1)),
    )
    assert (desk.state(once), desk.state(again)) == (RunState.DEAD, RunState.RETRYING)
    assert desk.rows.runs[once].reason == "exit code 2 (permanent_on: exit:2)"


async def test_a_policy_has_tried_again_what_the_executor_takes_for_permanent() -> None:
    desk = Desk()
    [run] = await desk.started(policy=RetryPolicy(attempts=5, retry_on=("http:404",)))
    result = Result(Outcome.FAILED, "HTTP 404", permanent=True, http_status=404)
    await desk.report(End(run, 1, result))
    assert desk.state(run) is RunState.RETRYING


async def test_what_the_executor_takes_for_permanent_is_not_tried_again() -> None:
    desk = Desk()
    [run] = await desk.started(policy=RetryPolicy(attempts=5))
    result = Result(Outcome.FAILED, "HTTP 404", permanent=True, http_status=404)
    await desk.report(End(run, 1, result))
    assert (desk.state(run), desk.rows.runs[run].reason) == (RunState.DEAD, "HTTP 404")


async def test_runs_that_are_given_up_or_tried_again_are_counted_and_the_dead_leave_a_line() -> (
    None
):
    desk = Desk()
    good, *bad = await desk.started(4, policy=RetryPolicy(attempts=2))
    for run in bad[:2]:
        desk.rows.runs[run].policy = RetryPolicy(attempts=1)
    before = RUNS_DEAD._value.get(), RUNS_RETRIED._value.get()
    ends = [End(good, 1, OK), *(End(run, 1, BAD) for run in bad)]
    with capture_logs() as logs:
        await desk.report(*ends)
        await desk.report(*ends)
    assert (RUNS_DEAD._value.get(), RUNS_RETRIED._value.get()) == (before[0] + 2, before[1] + 1)
    [line] = [entry for entry in logs if entry["event"] == "runs.dead"]
    assert (line["count"], line["run"], line["reason"]) == (2, str(bad[0]), "exit code 1")


async def test_the_wait_that_a_target_asks_for_is_kept() -> None:
    desk = Desk()
    policy = RetryPolicy(attempts=2, backoff=Backoff(initial="7s", jitter="none"))
    [run] = await desk.started(policy=policy)
    await desk.report(End(run, 1, Result(Outcome.FAILED, "HTTP 503", retry_after_s=40)))
    assert desk.rows.runs[run].retry_in_s == 40


async def test_gw06_a_run_that_is_lost_too_often_is_a_dead_letter() -> None:
    desk = Desk()
    [run] = await desk.started(policy=RetryPolicy(lost=3))
    desk.rows.runs[run].lost_count = 2
    await desk.report(End(run, 1, Result(Outcome.LOST, "executor shut down")))
    assert desk.state(run) is RunState.DEAD
    assert "lost 3 times" in desk.rows.runs[run].reason


async def test_what_died_in_company_is_tried_again_however_often_it_was_lost() -> None:
    desk = Desk()
    [run] = await desk.started(policy=RetryPolicy(lost=1))
    await desk.report(End(run, 1, Result(Outcome.LOST, "its keeper ended", company=2)))
    assert desk.state(run) is RunState.RETRYING
    assert desk.rows.ends[run, 1].shared


async def test_a_run_that_fails_after_its_cancel_was_asked_for_is_cancelled() -> None:
    desk = Desk()
    [run] = await desk.started()
    desk.rows.runs[run].cancel = True
    await desk.report(End(run, 1, BAD))
    assert desk.state(run) is RunState.CANCELLED


async def test_gw09_a_repeated_report_is_confirmed_and_changes_nothing() -> None:
    desk = Desk()
    good, bad = await desk.started(2)
    ends = [End(good, 1, OK), End(bad, 1, BAD)]
    await desk.report(*ends)
    before = dict(desk.rows.ends)
    assert await desk.report(*ends) == ReportAnswer()
    assert desk.rows.ends == before


async def test_gw09_a_report_whose_answer_was_lost_is_confirmed_when_repeated() -> None:
    desk = Desk()
    [run] = await desk.started()
    desk.rows.lost_answers["record"] = 1
    with pytest.raises(UnavailableError):
        await desk.report(End(run, 1, OK))
    assert await desk.report(End(run, 1, OK)) == ReportAnswer()
    assert desk.state(run) is RunState.SUCCEEDED


@pytest.mark.parametrize("result", [OK, BAD])
async def test_the_end_of_a_superseded_attempt_changes_nothing_and_is_counted(
    result: Result,
) -> None:
    desk = Desk()
    [run] = await desk.started()
    desk.rows.runs[run].executor = uuid4()
    before = SUPERSEDED._value.get()
    assert await desk.report(End(run, 1, result)) == ReportAnswer([run])
    assert desk.state(run) is RunState.RUNNING
    assert SUPERSEDED._value.get() == before + 1


async def test_an_end_of_an_earlier_attempt_does_not_touch_the_current_one() -> None:
    desk = Desk()
    [run] = await desk.started()
    desk.rows.runs[run].attempt = 2
    assert await desk.report(End(run, 1, BAD)) == ReportAnswer([run])
    assert desk.state(run) is RunState.RUNNING


async def test_reports_that_come_while_others_are_recorded_share_a_batch() -> None:
    desk = Desk()
    runs = await desk.started(12)
    desk.rows.open.clear()
    reports = [asyncio.create_task(desk.report(End(run, 1, OK))) for run in runs]
    await until(lambda: desk.rows.calls["record"] == 2)
    desk.rows.open.set()
    await asyncio.gather(*reports)
    assert sorted(desk.rows.batches) == [1, 1, 10]


async def test_a_batch_has_at_most_2000_ends() -> None:
    desk = Desk()
    runs = await desk.started(3500)
    desk.rows.open.clear()
    parts = [runs[:1], runs[1:2], *(runs[at : at + 700] for at in range(2, 3500, 700))]
    reports = [
        asyncio.create_task(desk.report(*(End(run, 1, OK) for run in part))) for part in parts
    ]
    await until(lambda: desk.rows.calls["record"] == 2)
    desk.rows.open.set()
    await asyncio.gather(*reports)
    assert max(desk.rows.batches) <= 2000
    assert desk.rows.states() == {RunState.SUCCEEDED: 3500}


async def test_executors_are_recorded_in_turn() -> None:
    desk = Desk()
    runs = await desk.started(4)
    other = uuid4()
    [theirs] = desk.rows.enqueue()
    desk.rows.executors[other] = Heartbeat(other, "o", ["default"], 1, 1)
    await desk.rows.dequeue(Poll(other, 1, ["default"], 1), "default")
    desk.rows.open.clear()
    reports = [asyncio.create_task(desk.report(End(run, 1, OK))) for run in runs]
    reports.append(asyncio.create_task(desk.report(End(theirs, 1, OK), executor=other)))
    await until(lambda: desk.rows.calls["record"] == 2)
    desk.rows.open.set()
    await asyncio.gather(*reports)
    assert sorted(desk.rows.batches) == [1, 1, 1, 2]


async def test_an_end_twice_in_a_batch_is_recorded_once() -> None:
    desk = Desk()
    [run] = await desk.started()
    assert await desk.report(End(run, 1, OK), End(run, 1, OK)) == ReportAnswer()
    assert desk.rows.batches == [1]


async def test_rc03_one_end_that_cannot_be_stored_does_not_hold_up_the_others() -> None:
    desk = Desk()
    runs = await desk.started(50)
    desk.rows.poisoned = {runs[17]}
    ends = [End(run, 1, OK) for run in runs]
    ends[17] = End(runs[17], 1, Result(Outcome.SUCCEEDED, output="poison"))
    assert await desk.report(*ends) == ReportAnswer()
    assert desk.rows.states() == {RunState.SUCCEEDED: 50}
    assert "could not be recorded" in desk.rows.ends[runs[17], 1].end.result.output


async def test_a_failure_that_cannot_be_stored_ends_its_run() -> None:
    desk = Desk()
    [run] = await desk.started()
    desk.rows.poisoned = {run}
    await desk.report(End(run, 1, Result(Outcome.FAILED, "no", output="poison")))
    assert desk.state(run) is RunState.DEAD


async def test_text_is_made_fit_to_be_stored() -> None:
    desk = Desk()
    [run] = await desk.started(policy=RetryPolicy(attempts=1))
    result = Result(Outcome.FAILED, "a\0b", output="c\0" + "x" * 300_000)
    await desk.report(End(run, 1, result))
    kept = desk.rows.ends[run, 1].end.result
    assert kept.reason == "a\ufffdb"
    assert kept.output.startswith("c\ufffdx")
    assert len(kept.output) + kept.output_cut == len(result.output)


async def test_the_status_reaches_the_cache() -> None:
    desk = Desk()
    running = asyncio.create_task(desk.recorder.run())
    [run] = await desk.started()
    await desk.report(End(run, 1, OK))
    await until(lambda: run in desk.statuses.kept)
    assert desk.statuses.kept[run].state is RunState.SUCCEEDED
    await desk.recorder.stop()
    await running


async def test_a_cache_that_hangs_holds_up_no_report() -> None:
    desk = Desk()
    desk.statuses.gate.clear()
    running = asyncio.create_task(desk.recorder.run())
    for run in await desk.started(CACHE_QUEUE_MAX + 10):
        await desk.report(End(run, 1, OK))
    assert desk.rows.states() == {RunState.SUCCEEDED: CACHE_QUEUE_MAX + 10}
    await desk.recorder.stop()
    await running
