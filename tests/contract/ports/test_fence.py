"""A lease in force gives no right to a partition that is another's."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.contract.ports.ground import SPEC, START, Ground, claim

from matins.domain.executors.protocol import End, Ending, Heartbeat, Poll
from matins.domain.runs.admission.waiting import Waiting
from matins.domain.runs.attempts import Result
from matins.domain.runs.states import Outcome, RunState
from matins.domain.values.ids import partition_of

HOLDER, OTHER, EXECUTOR = (UUID(int=number) for number in range(1, 4))
JOB = next(
    job_id for job_id in (UUID(int=n) for n in range(10, 1000)) if partition_of(job_id) < 128
)


@pytest.fixture
async def epochs(ground: Ground) -> dict[int, int]:
    """The partitions of one of two schedulers, each of which holds a half under epoch 1."""
    await ground.rows.add_job(JOB, SPEC)
    first = await ground.leases.acquire(HOLDER, 128, 3600)
    second = await ground.leases.acquire(OTHER, 128, 3600)
    assert partition_of(JOB) in first
    assert set(first.values()) == set(second.values()) == {1}
    return first


async def test_to_claim(ground: Ground, epochs: dict[int, int]) -> None:
    wanted = claim(JOB, START)
    answer = await ground.agenda.claim(OTHER, epochs, [wanted])
    assert (answer.made, answer.refused) == (set(), {partition_of(JOB)})
    assert (await ground.agenda.claim(HOLDER, epochs, [wanted])).made == {wanted.run_id}


async def test_to_admit(ground: Ground, epochs: dict[int, int]) -> None:
    wanted = claim(JOB, START)
    await ground.agenda.claim(HOLDER, epochs, [wanted])
    await ground.dispatch.heartbeat(Heartbeat(EXECUTOR, "e", ["default"], 9, 1))
    await ground.dispatch.dequeue(Poll(EXECUTOR, 1, ["default"], 9), "default")
    failed = End(wanted.run_id, 1, Result(Outcome.FAILED, "why"))
    await ground.dispatch.record(EXECUTOR, [Ending(failed, RunState.RETRYING, "why", 0.0)])
    retries = await _retries(ground)
    assert (await ground.admit(OTHER, epochs, retries)).refused == {partition_of(JOB)}
    assert await _retries(ground) == retries
    assert (await ground.admit(HOLDER, epochs, retries)).refused == set()
    assert await _retries(ground) == []


async def test_to_renew(ground: Ground, epochs: dict[int, int]) -> None:
    assert await ground.leases.renew(OTHER, epochs, None, 3600) == set()
    assert await ground.leases.renew(HOLDER, epochs, None, 3600) == epochs.keys()


async def _retries(ground: Ground) -> list[Waiting]:
    return await ground.waiting(JOB)
