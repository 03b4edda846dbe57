"""The agenda: a due time is claimed once, under a lease in force, at the job's own revision."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import islice
from uuid import UUID

import msgspec
import pytest
from tests.contract.ports.ground import SPEC, START, Ground, advance, claim
from tests.ids import numbered

from matins.domain.executors.protocol import Handout, Heartbeat, Poll
from matins.domain.jobs.spec import JobState
from matins.domain.runs.claims import BEGINNING, Advance, Claim, Mark
from matins.domain.runs.states import Kind, RunState
from matins.domain.values.ids import partition_of

A, B, JOB = (numbered(number) for number in range(1, 4))
OTHERS = range(10, 100_000)
MINUTE = timedelta(minutes=1)


def minutes(count: float) -> datetime:
    """So many minutes after the start."""
    return START + count * MINUTE


def skipped(first: int, last: int) -> Claim:
    """Return the claim of a range of due times, from one minute to another."""
    return claim(
        JOB,
        minutes(first),
        state=RunState.SKIPPED,
        reason="misfire: last",
        due_until=minutes(last),
        due_count=last - first + 1,
        next_due_at=minutes(last + 1),
        next_fire_at=minutes(last + 1.5),
    )


async def test_a_due_time_is_claimed_once(ground: Ground) -> None:
    await ground.rows.add_job(JOB, SPEC)
    epochs = await ground.all_leases(A)
    claims = [claim(JOB, START), claim(JOB, START + MINUTE)]
    first = await ground.agenda.claim(A, epochs, claims)
    again = await ground.agenda.claim(A, epochs, claims)
    assert first.made == {claim.run_id for claim in claims}
    assert (again.made, again.refused, again.stale) == (set(), set(), set())


async def test_a_claim_of_a_day_without_its_table_makes_the_table(ground: Ground) -> None:
    await ground.rows.add_job(JOB, SPEC)
    epochs = await ground.all_leases(A)
    far = claim(JOB, START - timedelta(days=400))
    assert (await ground.agenda.claim(A, epochs, [far])).made == {far.run_id}


@pytest.mark.parametrize("why", ["older epoch", "other holder", "expired", "no lease"])
async def test_the_fence_refuses(ground: Ground, why: str) -> None:
    await ground.rows.add_job(JOB, SPEC)
    epochs = await ground.all_leases(A)
    holder = A
    match why:
        case "older epoch":
            epochs = {partition: epoch - 1 for partition, epoch in epochs.items()}
        case "other holder":
            holder = B
        case "expired":
            ground.clock.move(3600)
        case "no lease":
            epochs = {}
    answer = await ground.agenda.claim(holder, epochs, [claim(JOB, START)])
    assert (answer.made, answer.refused) == (set(), {partition_of(JOB)})


async def test_what_the_fence_lets_through_is_claimed_beside_what_it_refuses(
    ground: Ground,
) -> None:
    other = next(
        job_id for job_id in map(numbered, OTHERS) if partition_of(job_id) != partition_of(JOB)
    )
    for job in (JOB, other):
        await ground.rows.add_job(job, SPEC)
    epochs = await ground.all_leases(A)
    epochs[partition_of(JOB)] -= 1
    answer = await ground.agenda.claim(A, epochs, [claim(JOB, START), claim(other, START)])
    assert answer.made == {claim(other, START).run_id}
    assert answer.refused == {partition_of(JOB)}


async def test_a_changed_job_is_not_claimed_by_its_old_revision(ground: Ground) -> None:
    await ground.rows.add_job(JOB, SPEC)
    epochs = await ground.all_leases(A)
    await ground.rows.revise(JOB)
    answer = await ground.agenda.claim(A, epochs, [claim(JOB, START)])
    assert (answer.made, answer.stale) == (set(), {JOB})
    fresh = claim(JOB, START, revision=2)
    assert (await ground.agenda.claim(A, epochs, [fresh])).made == {fresh.run_id}


async def test_an_unknown_job_is_stale(ground: Ground) -> None:
    epochs = await ground.all_leases(A)
    assert (await ground.agenda.claim(A, epochs, [claim(JOB, START)])).stale == {JOB}


async def test_queued_claims_are_dispatched_and_skipped_ones_are_not(ground: Ground) -> None:
    await ground.rows.add_job(JOB, SPEC)
    epochs = await ground.all_leases(A)
    queued = claim(JOB, minutes(10))
    await ground.agenda.claim(A, epochs, [skipped(0, 9), queued])
    executor = numbered(4)
    await ground.dispatch.heartbeat(Heartbeat(executor, "e", ["default"], 9, 1))
    handout = (
        await ground.dispatch.dequeue(Poll(executor, 1, ["default"], 9), "default") or Handout()
    )
    assert [attempt.run_id for attempt in handout.attempts] == [queued.run_id]


async def test_a_range_is_claimed_together_with_the_step_past_it(ground: Ground) -> None:
    await ground.rows.add_job(JOB, SPEC)
    epochs = await ground.all_leases(A)
    await ground.agenda.claim(A, epochs, [claim(JOB, START), skipped(1, 9)])
    [job] = await ground.agenda.find_jobs([JOB])
    assert (job.next_due_at, job.next_fire_at) == (minutes(10), minutes(10.5))


@pytest.mark.parametrize("minute", [0, 5, 9])
async def test_a_range_that_meets_a_row_is_not_made_and_steps_past_nothing(
    ground: Ground, minute: int
) -> None:
    await ground.rows.add_job(JOB, SPEC)
    epochs = await ground.all_leases(A)
    await ground.agenda.claim(A, epochs, [claim(JOB, minutes(minute))])
    answer = await ground.agenda.claim(A, epochs, [skipped(0, 9)])
    assert (answer.made, answer.refused, answer.stale) == (set(), set(), set())
    [job] = await ground.agenda.find_jobs([JOB])
    assert job.next_due_at == START


async def test_runs_of_other_kinds_and_rows_beside_it_hold_off_no_range(ground: Ground) -> None:
    await ground.rows.add_job(JOB, SPEC)
    epochs = await ground.all_leases(A)
    around = [claim(JOB, START), claim(JOB, minutes(10))]
    chained = claim(JOB, minutes(5), kind=Kind.CHAINED)
    await ground.agenda.claim(A, epochs, [*around, chained])
    assert len((await ground.agenda.claim(A, epochs, [skipped(1, 9)])).made) == 1


async def test_claims_that_come_late_make_no_rows_within_a_range(ground: Ground) -> None:
    await ground.rows.add_job(JOB, SPEC)
    epochs = await ground.all_leases(A)
    await ground.agenda.claim(A, epochs, [skipped(0, 9)])
    late = [claim(JOB, minutes(minute)) for minute in range(8)]
    answer = await ground.agenda.claim(A, epochs, late)
    assert (answer.made, answer.stale) == (set(), {JOB})
    assert [row.due_count for row in await ground.rows.runs(JOB)] == [10]


async def test_a_range_that_comes_late_takes_no_due_time_back(ground: Ground) -> None:
    await ground.rows.add_job(JOB, SPEC)
    epochs = await ground.all_leases(A)
    await ground.advance(advance(JOB, minutes(20)))
    await ground.agenda.claim(A, epochs, [skipped(0, 9)])
    [job] = await ground.agenda.find_jobs([JOB])
    assert job.next_due_at == minutes(20)


async def test_due_jobs_are_loaded_by_partition_and_fire_time(ground: Ground) -> None:
    await ground.rows.add_job(JOB, SPEC)
    own = {partition_of(JOB): BEGINNING}
    [job] = await ground.agenda.load(own, START, 9)
    assert (job.id, job.schedule, job.next_fire_at) == (JOB, SPEC.schedule, START)
    assert await ground.agenda.load(own, START - MINUTE, 9) == []
    others = dict.fromkeys(set(range(256)) - own.keys(), BEGINNING)
    assert await ground.agenda.load(others, START, 9) == []


async def test_each_partition_gives_its_share_of_a_page_in_the_order_of_fire_times(
    ground: Ground,
) -> None:
    here, there = partition_of(JOB), (partition_of(JOB) + 1) % 256
    late, *first = sorted(ids_in(here, 4), key=lambda job: job.int)
    [other] = ids_in(there, 1)
    for job in (late, *first, other):
        await ground.rows.add_job(job, SPEC)
    await ground.advance(advance(late, START + MINUTE))
    later = START + 2 * MINUTE
    page = await ground.agenda.load({here: BEGINNING, there: BEGINNING}, later, 2)
    assert [job.id for job in page if job.partition == here] == first[:2]
    assert [job.id for job in page if job.partition == there] == [other]
    rest = await ground.agenda.load({here: Mark(START, first[1])}, later, 2)
    assert [job.id for job in rest] == [first[2], late]
    assert await ground.agenda.load({here: Mark(START + MINUTE, late)}, later, 2) == []


def ids_in(partition: int, count: int) -> list[UUID]:
    """So many ids of jobs of a partition."""
    ids = (job for job in map(numbered, OTHERS) if partition_of(job) == partition)
    return list(islice(ids, count))


async def test_next_due_times_never_go_backwards(ground: Ground) -> None:
    await ground.rows.add_job(JOB, SPEC)
    later, earlier = START + 2 * MINUTE, START + MINUTE
    await ground.advance(advance(JOB, later))
    await ground.advance(advance(JOB, earlier))
    [job] = await ground.agenda.find_jobs([JOB])
    assert job.next_due_at == later


async def test_who_has_no_lease_writes_no_next_due_time(ground: Ground) -> None:
    await ground.rows.add_job(JOB, SPEC)
    epochs = await ground.all_leases(A)
    await ground.leases.release(A, epochs)
    await ground.agenda.advance(A, [advance(JOB, START + MINUTE)])
    [job] = await ground.agenda.find_jobs([JOB])
    assert job.next_due_at == START


async def test_next_due_times_of_another_revision_are_not_written(ground: Ground) -> None:
    await ground.rows.add_job(JOB, SPEC)
    await ground.advance(advance(JOB, START + MINUTE, revision=2))
    [job] = await ground.agenda.find_jobs([JOB])
    assert job.next_due_at == START


async def test_a_schedule_that_came_to_its_end_is_due_no_more(ground: Ground) -> None:
    await ground.rows.add_job(JOB, SPEC)
    await ground.advance(Advance(JOB, 1, None, None, START))
    assert await ground.agenda.find_jobs([JOB]) == []


async def test_an_end_that_was_reached_earlier_hides_no_later_due_time(ground: Ground) -> None:
    await ground.rows.add_job(JOB, SPEC)
    await ground.advance(advance(JOB, START + MINUTE))
    await ground.advance(Advance(JOB, 1, None, None, START))
    [job] = await ground.agenda.find_jobs([JOB])
    assert job.next_due_at == START + MINUTE


async def test_a_quarantined_job_is_told_as_changed_and_claimed_no_more(ground: Ground) -> None:
    await ground.rows.add_job(JOB, SPEC)
    epochs = await ground.all_leases(A)
    ground.clock.move(1)
    since = ground.clock.now()
    await ground.agenda.quarantine(JOB, 1, "its zone is unknown")
    [job] = await ground.agenda.changed_jobs({partition_of(JOB)}, since)
    assert (job.id, job.state, job.revision) == (JOB, JobState.QUARANTINED, 2)
    assert (await ground.agenda.claim(A, epochs, [claim(JOB, START, revision=2)])).stale == {JOB}


async def test_quarantine_of_an_older_revision_changes_nothing(ground: Ground) -> None:
    await ground.rows.add_job(JOB, SPEC)
    await ground.rows.revise(JOB)
    await ground.agenda.quarantine(JOB, 1, "its zone is unknown")
    [job] = await ground.agenda.find_jobs([JOB])
    assert job.state is JobState.ACTIVE


async def test_a_job_without_a_schedule_is_never_loaded(ground: Ground) -> None:
    spec = msgspec.structs.replace(SPEC, schedule=None)
    await ground.rows.add_job(JOB, spec)
    assert await ground.agenda.changed_jobs({partition_of(JOB)}, START) == []
