"""T1 counts from when the last answered heartbeat was sent, however long its answer took."""

from __future__ import annotations

import pytest
from tests.unit.executor_fleet.bench import Bench, at_work, virtual

from matins.domain.runs.states import RunState

ANSWER_S = 8.0


@virtual
async def test_attempts_end_at_t1_after_the_last_answered_heartbeat_was_sent() -> None:
    async with at_work(Bench()) as bench:
        bench.runner.lasts_s = 600.0
        bench.rows.enqueue()
        await bench.until(lambda: bool(bench.runner.running))
        bench.link.heartbeat_s = ANSWER_S
        sent = len(bench.link.heartbeats)
        await bench.until(lambda: len(bench.link.heartbeats) > sent)
        sent_s = bench.clock.elapsed_s()
        await bench.clock.sleep(ANSWER_S + 0.1)
        bench.link.away = {"heartbeat"}
        await bench.until(lambda: not bench.runner.running)
        assert bench.clock.elapsed_s() - sent_s == pytest.approx(bench.settings.cut_off_s, abs=0.2)
        bench.link.away.clear()


@virtual
async def test_runners_are_told_when_the_heartbeat_was_sent_that_is_answered() -> None:
    async with at_work(Bench()) as bench:
        bench.link.heartbeat_s = ANSWER_S
        await bench.until(lambda: len(bench.contacts) == 3)
        period_s = ANSWER_S + bench.settings.heartbeat_s
        assert bench.contacts == pytest.approx([0.0, period_s, 2 * period_s], abs=0.01)


@virtual
async def test_an_attempt_that_comes_while_there_is_no_contact_starts_when_there_is() -> None:
    async with at_work(Bench()) as bench:
        await bench.until(lambda: bool(bench.link.polls))
        bench.link.away = {"heartbeat"}
        await bench.clock.sleep(bench.settings.cut_off_s + 1)
        bench.rows.enqueue()
        await bench.until(lambda: bench.rows.states() == {RunState.RUNNING: 1})
        await bench.clock.sleep(5)
        assert bench.runner.started == []
        bench.link.away = set()
        await bench.until(lambda: bench.rows.states() == {RunState.SUCCEEDED: 1})


@virtual
async def test_an_executor_that_is_out_of_touch_sends_no_further_poll() -> None:
    async with at_work(Bench()) as bench:
        await bench.until(lambda: bool(bench.link.polls))
        bench.link.away = {"heartbeat"}
        await bench.clock.sleep(bench.settings.cut_off_s + 30)
        before = len(bench.link.polls)
        await bench.clock.sleep(60)
        assert len(bench.link.polls) == before
        bench.link.away = set()
        await bench.until(lambda: len(bench.link.polls) > before)
