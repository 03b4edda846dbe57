"""What owners do to single runs, on memory and on PostgreSQL."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.contract.ports.ground import SPEC, Ground, Row

from matins.domain.executors.protocol import Heartbeat, Poll
from matins.domain.runs.states import RunState
from matins.domain.values.errors import ConflictError, NotFoundError

TEAM = "default"
EXECUTOR = UUID(int=7)


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
    [running] = await ground.dispatch.running(EXECUTOR, [run])
    assert running.tried.cancel_requested


@pytest.mark.parametrize("run", [UUID(int=1), UUID("019ad000-0000-8000-8000-000000000000")])
async def test_there_is_no_run_by_any_other_id(ground: Ground, run: UUID) -> None:
    with pytest.raises(NotFoundError, match="there is no run"):
        await ground.owners.runs.cancel(run)
