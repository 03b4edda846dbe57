"""What heartbeats tell, and what their answers do."""

from __future__ import annotations

from tests.unit.executor_fleet.bench import Bench, at_work, virtual

from matins.domain.executors.protocol import Heartbeat
from matins.domain.runs.states import RunState


@virtual
async def test_an_incarnation_that_hears_by_its_heartbeat_that_it_is_lost_ends_at_once() -> None:
    async with at_work(Bench()) as bench:
        bench.runner.lasts_s = 600.0
        bench.rows.enqueue()
        await bench.until(lambda: bool(bench.runner.running))
        bench.link.away = bench.link.deaf = {"poll"}  # or the answer to a poll would tell
        bench.rows.ended.add(bench.link.heartbeats[-1].executor)
        took_s = await bench.until(lambda: not bench.runner.running)
        assert took_s < 2 * bench.settings.heartbeat_s
        bench.link.away = bench.link.deaf = set()


@virtual
async def test_a_closed_poll_is_told_until_a_heartbeat_of_it_was_answered_and_no_longer() -> None:
    async with at_work(Bench()) as bench:
        await bench.until(lambda: bool(bench.link.polls))
        bench.link.deaf = {"heartbeat"}
        [run] = bench.rows.enqueue()
        await bench.until(lambda: bench.rows.states() == {RunState.SUCCEEDED: 1})
        first = await next_heartbeat(bench)
        [seq] = first.closed
        assert (run, 1) not in first.held
        assert (await next_heartbeat(bench)).closed == [seq]
        bench.link.deaf = set()
        await next_heartbeat(bench)
        assert (await next_heartbeat(bench)).closed == []


async def next_heartbeat(bench: Bench) -> Heartbeat:
    """Return the next heartbeat that is sent."""
    before = len(bench.link.heartbeats)
    await bench.until(lambda: len(bench.link.heartbeats) > before)
    return bench.link.heartbeats[before]
