"""When a slot is free, and when none may be filled; what a stopping executor still owes."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.executor_fleet.bench import Bench, at_work, virtual

from matins.domain.runs.states import RunState
from matins.executor import outbox


@virtual
async def test_the_slot_of_an_attempt_that_was_dropped_is_filled_at_once() -> None:
    async with at_work(Bench(slots=1)) as bench:
        bench.runner.lasts_s = 600.0
        [first] = bench.rows.enqueue()
        await bench.until(lambda: bool(bench.runner.running))
        [second] = bench.rows.enqueue()
        bench.rows.runs[first].attempt = 2  # others go on with it
        await bench.until(lambda: (first, 1) not in bench.runner.running)
        took_s = await bench.until(lambda: (second, 1) in bench.runner.running)
        assert took_s < 1


@virtual
async def test_who_stops_waits_until_its_last_ends_are_confirmed() -> None:
    bench = Bench()

    async def come_back() -> None:
        await bench.clock.sleep(5)
        bench.link.away = set()

    async with at_work(bench):
        bench.runner.lasts_s = 1.0
        bench.rows.enqueue()
        await bench.until(lambda: bool(bench.runner.running))
        bench.link.away = {"report"}
        returning = asyncio.create_task(come_back())
    await returning
    assert bench.rows.states() == {RunState.SUCCEEDED: 1}


def test_nothing_new_is_taken_while_too_many_ends_are_unconfirmed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outbox, "ENDS_MAX", 5)

    @virtual
    async def scenario() -> None:
        async with at_work(Bench(slots=5)) as bench:
            await bench.until(lambda: bool(bench.link.polls))
            bench.link.away = {"report"}
            bench.rows.enqueue(40)
            await bench.until(lambda: len(bench.runner.started) >= 5)
            await bench.clock.sleep(10)
            assert len(bench.runner.started) < 15
            bench.link.away = set()
            await bench.until(lambda: bench.rows.states() == {RunState.SUCCEEDED: 40})

    scenario()
