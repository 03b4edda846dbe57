"""Jobs that follow the ends of their runs: each end is found until it is followed, once."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

import msgspec
import pytest
from tests.contract.ports.ground import SPEC, START, Ground, advance, claim
from tests.ids import numbered

from matins.domain.executors.protocol import End, Ending, Handout, Heartbeat, Poll
from matins.domain.runs.attempts import Result
from matins.domain.runs.claims import Advance, AwaitedEnd, FollowUp
from matins.domain.runs.states import Outcome, RunState
from matins.domain.schedules.schedule import Schedule
from matins.domain.values.ids import partition_of

A, EXECUTOR = numbered(1), numbered(2)
FOLLOWING = msgspec.structs.replace(SPEC, schedule=Schedule(every="1m", after="end"))
TWICE = msgspec.structs.replace(SPEC, schedule=Schedule(every="1m", after="end", max_runs=2))
OWN = msgspec.structs.replace(SPEC, schedule=Schedule(every="1m"))
EVERYWHERE = range(256)
LATER = START + timedelta(minutes=5)


@pytest.fixture
def job() -> UUID:
    """A new job's id."""
    return numbered(3)


async def claimed(ground: Ground, job: UUID, due: datetime = START) -> None:
    """Claim a run of a job."""
    epochs = await ground.all_leases(A)
    answer = await ground.agenda.claim(A, epochs, [claim(job, due)])
    assert len(answer.made) == 1
    await ground.leases.release(A, epochs)


async def end(ground: Ground, state: RunState, outcome: Outcome) -> None:
    """Let the one run on the queue be executed, with that outcome."""
    await ground.dispatch.heartbeat(Heartbeat(EXECUTOR, "e", ["default"], 9, 1))
    handout = (
        await ground.dispatch.dequeue(Poll(EXECUTOR, 1, ["default"], 9), "default") or Handout()
    )
    [attempt] = handout.attempts
    retry_in_s = 10 if state is RunState.RETRYING else None
    ending = Ending(End(attempt.run_id, 1, Result(outcome, "")), state, "", retry_in_s)
    assert await ground.dispatch.record(EXECUTOR, [ending])


async def ended(ground: Ground) -> list[AwaitedEnd]:
    return await ground.agenda.ended_runs(EVERYWHERE, 99)


async def executed(ground: Ground, job: UUID, lasted_s: float = 7.5) -> None:
    """Claim and execute the first run of a job."""
    await claimed(ground, job)
    ground.clock.move(lasted_s)
    await end(ground, RunState.SUCCEEDED, Outcome.SUCCEEDED)


def follow_up(job: UUID, due: datetime | None = LATER, revision: int = 1) -> FollowUp:
    return FollowUp(job, revision, START, due, due)


async def test_the_end_of_a_run_is_found_with_its_job(ground: Ground, job: UUID) -> None:
    await ground.rows.add_job(job, FOLLOWING)
    await executed(ground, job)
    [found] = await ended(ground)
    assert (found.job.id, found.job.revision, found.job.schedule) == (job, 1, FOLLOWING.schedule)
    assert (found.due_at, found.ended_at) == (START, START + timedelta(seconds=7.5))
    assert found.run_count == 0


async def test_it_is_found_whether_the_next_due_time_was_written_or_not(
    ground: Ground, job: UUID
) -> None:
    await ground.rows.add_job(job, FOLLOWING)
    await executed(ground, job)
    await ground.advance(Advance(job, 1, None, None, START))
    [found] = await ended(ground)
    assert found.job.next_due_at is None


async def test_what_follows_an_end_is_looked_for_though_a_run_was_triggered_meanwhile(
    ground: Ground, job: UUID
) -> None:
    await ground.rows.add_job(job, FOLLOWING)
    await executed(ground, job)
    await ground.advance(Advance(job, 1, None, None, START, open_since=LATER))
    [found] = await ended(ground)
    assert found.job.open_since <= START


async def test_since_when_to_look_stays_where_it_is_not_known_any_more(
    ground: Ground, job: UUID
) -> None:
    await ground.rows.add_job(job, FOLLOWING)
    await executed(ground, job)
    [before] = await ended(ground)
    await ground.agenda.write_follow_ups([follow_up(job)])
    await ground.advance(Advance(job, 1, None, None, LATER))
    [after] = await ground.agenda.changed_jobs([partition_of(job)], START - timedelta(days=1))
    assert after.next_due_at is None
    assert after.open_since == before.job.open_since < LATER


async def test_it_is_found_in_its_partition_and_in_no_other(ground: Ground, job: UUID) -> None:
    await ground.rows.add_job(job, FOLLOWING)
    await executed(ground, job)
    own = partition_of(job)
    assert len(await ground.agenda.ended_runs([own], 99)) == 1
    assert (
        await ground.agenda.ended_runs(
            [partition for partition in EVERYWHERE if partition != own], 99
        )
        == []
    )
    assert await ground.agenda.ended_runs([], 99) == []


async def test_no_more_are_found_than_were_asked_for(ground: Ground) -> None:
    for number in range(4, 7):
        other = numbered(number)
        await ground.rows.add_job(other, FOLLOWING)
        epochs = await ground.all_leases(A)
        skipped = claim(other, START, state=RunState.SKIPPED, reason="misfire: skip")
        await ground.agenda.claim(A, epochs, [skipped])
        await ground.leases.release(A, epochs)
    assert len(await ground.agenda.ended_runs(EVERYWHERE, 2)) == 2
    assert len(await ended(ground)) == 3


async def test_what_is_still_to_be_claimed_has_not_ended(ground: Ground, job: UUID) -> None:
    await ground.rows.add_job(job, FOLLOWING)
    assert await ended(ground) == []


async def test_a_run_that_is_queued_or_to_be_tried_again_has_not_ended(
    ground: Ground, job: UUID
) -> None:
    await ground.rows.add_job(job, FOLLOWING)
    await claimed(ground, job)
    assert await ended(ground) == []
    await end(ground, RunState.RETRYING, Outcome.LOST)
    assert await ended(ground) == []


@pytest.mark.parametrize(
    ("state", "outcome"),
    [(RunState.DEAD, Outcome.FAILED), (RunState.CANCELLED, Outcome.CANCELLED)],
)
async def test_however_a_run_ends_it_is_found(
    ground: Ground, job: UUID, state: RunState, outcome: Outcome
) -> None:
    await ground.rows.add_job(job, FOLLOWING)
    await claimed(ground, job)
    await end(ground, state, outcome)
    assert len(await ended(ground)) == 1


async def test_a_job_with_due_times_of_its_own_follows_nothing(ground: Ground, job: UUID) -> None:
    await ground.rows.add_job(job, OWN)
    await executed(ground, job)
    assert await ended(ground) == []
    assert await ground.agenda.write_follow_ups([follow_up(job)]) == set()


async def test_runs_are_counted_where_their_number_matters(ground: Ground, job: UUID) -> None:
    ground.clock.move(-60)
    await ground.rows.add_job(job, TWICE)
    ground.clock.move(60)
    await ground.agenda.write_follow_ups(
        [FollowUp(job, 1, START - timedelta(minutes=1), START, START)]
    )
    await executed(ground, job)
    [found] = await ended(ground)
    assert found.run_count == 1


async def test_what_follows_is_written_once(ground: Ground, job: UUID) -> None:
    await ground.rows.add_job(job, FOLLOWING)
    await executed(ground, job)
    assert await ground.agenda.write_follow_ups([follow_up(job)]) == {job}
    assert await ended(ground) == []
    [found] = await ground.agenda.find_jobs([job])
    assert (found.next_due_at, found.next_fire_at) == (LATER, LATER)
    assert (
        await ground.agenda.write_follow_ups([follow_up(job, LATER + timedelta(minutes=9))])
        == set()
    )
    assert await ground.agenda.find_jobs([job]) == [found]


async def test_the_run_that_follows_is_awaited_next(ground: Ground, job: UUID) -> None:
    await ground.rows.add_job(job, FOLLOWING)
    await executed(ground, job)
    await ground.agenda.write_follow_ups([follow_up(job)])
    ground.clock.move(1000)
    await claimed(ground, job, LATER)
    assert await ended(ground) == []


async def test_when_nothing_follows_it_is_never_found_again(ground: Ground, job: UUID) -> None:
    await ground.rows.add_job(job, FOLLOWING)
    await executed(ground, job)
    assert await ground.agenda.write_follow_ups([follow_up(job, None)]) == {job}
    assert await ended(ground) == []
    assert await ground.agenda.find_jobs([job]) == []


async def test_what_would_follow_for_another_revision_is_not_written(
    ground: Ground, job: UUID
) -> None:
    await ground.rows.add_job(job, FOLLOWING)
    await executed(ground, job)
    assert await ground.agenda.write_follow_ups([follow_up(job, revision=2)]) == set()
    assert len(await ended(ground)) == 1


async def test_a_quarantined_job_is_not_found(ground: Ground, job: UUID) -> None:
    await ground.rows.add_job(job, FOLLOWING)
    await executed(ground, job)
    await ground.agenda.quarantine(job, 1, "it can't be computed")
    assert await ended(ground) == []
    assert await ground.agenda.write_follow_ups([follow_up(job, revision=2)]) == set()


async def test_an_end_that_is_written_late_undoes_no_follow_up(ground: Ground, job: UUID) -> None:
    await ground.rows.add_job(job, FOLLOWING)
    await executed(ground, job)
    await ground.agenda.write_follow_ups([follow_up(job)])
    await ground.advance(Advance(job, 1, None, None, START))
    await ground.advance(advance(job, START))
    [found] = await ground.agenda.find_jobs([job])
    assert found.next_due_at == LATER
