"""What must be asked about waits; what is decided is done once, and by the rules of now only."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import msgspec
import pytest
from tests.contract.ports.ground import SPEC, START, Ground, claim

from matins.domain.executors.protocol import Handout, Heartbeat, Poll
from matins.domain.jobs.windows import Window
from matins.domain.runs.admission.deciding import decide
from matins.domain.runs.admission.waiting import CLAIM
from matins.domain.runs.admission.windows import CAUSE
from matins.domain.values.ids import partition_of

HOLDER, EXECUTOR, JOB = (UUID(int=number) for number in range(1, 4))
MINUTE = timedelta(minutes=1)
HOLD = Window("hold", START, START + MINUTE)
SKIP = Window("skip", START, START + MINUTE, policy="skip")


@pytest.fixture
async def epochs(ground: Ground) -> dict[int, int]:
    """All leases, a job, and an executor."""
    await ground.rows.add_job(JOB, SPEC)
    await ground.dispatch.heartbeat(Heartbeat(EXECUTOR, "e", ["default"], 9, 1))
    return await ground.all_leases(HOLDER)


async def dequeued(ground: Ground, seq: int = 1) -> list[UUID]:
    """Return the runs that are on the queue."""
    poll = Poll(EXECUTOR, seq, ["default"], 9)
    handout = await ground.dispatch.dequeue(poll, "default") or Handout()
    return [attempt.run_id for attempt in handout.attempts]


async def test_a_claim_waits_only_while_something_is_near(
    ground: Ground, epochs: dict[int, int]
) -> None:
    free = await ground.agenda.claim(HOLDER, epochs, [claim(JOB, START)])
    assert free.waiting == []
    await ground.rows.put_windows(HOLD)
    later = claim(JOB, START + timedelta(seconds=1))
    held = await ground.agenda.claim(HOLDER, epochs, [later])
    assert [(run.run_id, run.cause) for run in held.waiting] == [(later.run_id, CLAIM)]
    assert held.waiting == await ground.waiting(JOB)
    assert await dequeued(ground) == [*free.made]


async def test_what_is_held_waits_for_its_end_and_is_queued_then(
    ground: Ground, epochs: dict[int, int]
) -> None:
    await ground.rows.put_windows(HOLD)
    answer = await ground.agenda.claim(HOLDER, epochs, [claim(JOB, START)])
    done = await ground.admit(HOLDER, epochs, answer.waiting)
    assert (done.refused, done.outdated, done.pools) == (set(), set(), set())
    assert await ground.waiting(JOB) == []
    ground.clock.move(60)
    [waiting] = await ground.waiting(JOB)
    assert (waiting.ready_at, waiting.cause) == (START + MINUTE, CAUSE)
    assert (await ground.admit(HOLDER, epochs, [waiting])).pools == {"default"}
    assert await dequeued(ground) == [*answer.made]
    assert await ground.waiting(JOB) == []


async def test_what_is_skipped_waits_no_more(ground: Ground, epochs: dict[int, int]) -> None:
    await ground.rows.put_windows(SKIP)
    answer = await ground.agenda.claim(HOLDER, epochs, [claim(JOB, START)])
    await ground.admit(HOLDER, epochs, answer.waiting)
    ground.clock.move(3600)
    assert await ground.waiting(JOB) == []
    assert await dequeued(ground) == []


@pytest.mark.parametrize("windows", [(), (HOLD,), (SKIP,)])
async def test_what_was_decided_by_older_rules_is_not_done(
    ground: Ground, epochs: dict[int, int], windows: tuple[Window, ...]
) -> None:
    await ground.rows.put_windows(msgspec.structs.replace(HOLD, name="before"))
    answer = await ground.agenda.claim(HOLDER, epochs, [claim(JOB, START)])
    decisions = decide(answer.waiting, await ground.facts(answer.waiting))
    await ground.rows.put_windows(*windows)
    done = await ground.room.carry_out(HOLDER, epochs, decisions)
    assert done.outdated == {run.team_id for run in answer.waiting}
    assert await ground.waiting(JOB) == answer.waiting


async def test_what_was_decided_before_a_window_began_is_not_done_in_it(
    ground: Ground, epochs: dict[int, int]
) -> None:
    later = msgspec.structs.replace(HOLD, name="later", starts_at=START + MINUTE / 2)
    await ground.rows.put_windows(SKIP, later)
    answer = await ground.agenda.claim(HOLDER, epochs, [claim(JOB, START)])
    decisions = decide(answer.waiting, await ground.facts(answer.waiting))
    ground.clock.move(30)
    done = await ground.room.carry_out(HOLDER, epochs, decisions)
    assert len(done.outdated) == 1
    assert await ground.waiting(JOB) == answer.waiting


async def test_what_is_held_is_asked_about_again_when_the_rules_change(
    ground: Ground, epochs: dict[int, int]
) -> None:
    await ground.rows.put_windows(HOLD)
    answer = await ground.agenda.claim(HOLDER, epochs, [claim(JOB, START)])
    await ground.admit(HOLDER, epochs, answer.waiting)
    ground.clock.move(1)
    await ground.rows.put_windows()
    [waiting] = await ground.waiting(JOB)
    assert waiting.ready_at == ground.clock.now()
    await ground.admit(HOLDER, epochs, [waiting])
    assert await dequeued(ground) == [*answer.made]


async def test_what_somebody_else_decided_is_left_alone(
    ground: Ground, epochs: dict[int, int]
) -> None:
    await ground.rows.put_windows(HOLD)
    answer = await ground.agenda.claim(HOLDER, epochs, [claim(JOB, START)])
    await ground.rows.put_windows()
    for _ in range(2):
        await ground.admit(HOLDER, epochs, answer.waiting)
    assert await dequeued(ground) == [*answer.made]
    assert await dequeued(ground, seq=2) == []
    refused = (await ground.admit(EXECUTOR, epochs, answer.waiting)).refused
    assert refused == {partition_of(JOB)}
