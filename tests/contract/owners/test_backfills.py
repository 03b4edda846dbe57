"""Backfills on memory and on PostgreSQL: from an owner's wish to runs, and what is in the way."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import msgspec
import pytest
from tests.contract.ports.ground import SPEC, START, Ground, claim

from matins.domain.executors.protocol import End, Ending, Handout, Heartbeat, Poll
from matins.domain.jobs.retry import RetryPolicy
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import HttpTarget, Target
from matins.domain.ports.backfills import NewBackfill
from matins.domain.runs.attempts import Attempt, Result
from matins.domain.runs.backfills.expansion import BackfillExpansion, judge
from matins.domain.runs.backfills.stepping import BackfillStep, OpenBackfill, step
from matins.domain.runs.backfills.values import (
    Backfill,
    BackfillRequest,
    BackfillState,
    Span,
)
from matins.domain.runs.states import Kind, Outcome, RunState
from matins.domain.schedules.after_jobs import AfterJobs
from matins.domain.schedules.schedule import Schedule
from matins.domain.values.errors import ConflictError, InvalidInputError, NotFoundError
from matins.domain.values.ids import due_of, run_id
from matins.domain.views import Changed

TEAM = "default"
HOLDER, OTHER, EXECUTOR = (UUID(int=number) for number in range(1, 4))
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
ALL = BackfillRequest(since=START)
LATER_TARGET = Target(http=HttpTarget(url="http://127.0.0.1:9/later"))
LATER = msgspec.structs.replace(SPEC, target=LATER_TARGET, retry=RetryPolicy(attempts=7))


@pytest.fixture
async def made(ground: Ground) -> Changed:
    """A job that is due each minute, five minutes old, of which nothing was claimed: paused and
    resumed, so that its due times so far are skipped.
    """
    changed = await ground.owners.jobs.put(TEAM, SPEC)
    await ground.dispatch.heartbeat(Heartbeat(EXECUTOR, "e", ["default"], 99, 1))
    ground.clock.move(300)
    await ground.owners.jobs.put(TEAM, LATER)
    ground.clock.move(1)
    return await _skipping(ground, changed)


async def _skipping(ground: Ground, changed: Changed) -> Changed:
    """Let what was due so far be skipped, as a scheduler would that comes late."""
    job = changed.job.id
    epochs = await ground.all_leases(HOLDER)
    claims = [
        claim(job, START + minutes * MINUTE, 2, state=RunState.SKIPPED, reason="misfire: skip")
        for minutes in range(1, 6)
    ]
    await ground.agenda.claim(HOLDER, epochs, claims)
    await ground.leases.release(HOLDER, epochs)
    return changed


async def started(ground: Ground, **given: object) -> Backfill:
    request = msgspec.structs.replace(ALL, **given)
    answer = await ground.owners.backfills.start(TEAM, "job", request)
    assert answer.backfill is not None
    return answer.backfill


async def backfilled(ground: Ground, made: Changed) -> list[tuple[float, str]]:
    """Return due time and state of the runs of the job's backfills."""
    rows = await ground.rows.runs(made.job.id)
    return [(row.due_s, row.state) for row in rows if row.kind == "backfill"]


async def next_step(ground: Ground, backfill: OpenBackfill) -> BackfillStep:
    """Return what a scheduler would do next."""
    found = BackfillExpansion(await ground.backfills.job_past(backfill.job_id), backfill.span)
    page = found.page(backfill.mark, 99) if backfill.room else None
    if not page or not page.due:
        return step(backfill, [], is_last=page is not None)
    ends = sorted([page.due[0].due_at, page.due[-1].due_at])
    ledger = await ground.backfills.ledger(backfill.job_id, *ends)
    return step(backfill, judge(page.due, ledger, again=backfill.span.again), is_last=page.is_last)


async def proceed(ground: Ground, epochs: dict[int, int]) -> list[UUID]:
    """Take all backfills a step further, admit what was made, and return it."""
    made = []
    for backfill in await ground.backfills.unfinished_backfills(epochs):
        taken = await next_step(ground, backfill)
        made += await ground.backfills.proceed(HOLDER, epochs, taken)
    await ground.admit(HOLDER, epochs, made)
    return [waiting.run_id for waiting in made]


async def dequeued(ground: Ground, seq: int) -> Sequence[Attempt]:
    poll = Poll(EXECUTOR, seq, ["default"], 99)
    return (await ground.dispatch.dequeue(poll, "default") or Handout()).attempts


async def end(ground: Ground, attempts: Sequence[Attempt]) -> None:
    """Let attempts succeed."""
    ends = [End(attempt.run_id, attempt.number, Result(Outcome.SUCCEEDED)) for attempt in attempts]
    await ground.dispatch.record(EXECUTOR, [Ending(end_, RunState.SUCCEEDED) for end_ in ends])


async def to_the_end(ground: Ground, epochs: dict[int, int]) -> list[int]:
    """Run until nothing more comes; return the minutes of the due times, in order."""
    order: list[int] = []
    for seq in range(1, 30):
        await proceed(ground, epochs)
        attempts = await dequeued(ground, seq)
        order += [(attempt.due_at - START) // MINUTE for attempt in attempts]
        await end(ground, attempts)
        if not await ground.backfills.unfinished_backfills(epochs):
            return order
    raise AssertionError("it did not come to its end")


async def test_what_was_skipped_is_made_up_for_oldest_first(ground: Ground, made: Changed) -> None:
    backfill = await started(ground)
    assert (backfill.state, backfill.counts.planned) == (BackfillState.ACTIVE, 5)
    epochs = await ground.all_leases(HOLDER)
    assert await to_the_end(ground, epochs) == [1, 2, 3, 4, 5]
    shown = await ground.owners.backfills.cancel(backfill.id) if False else None
    assert shown is None
    rows = [row for row in await ground.rows.runs(made.job.id) if row.kind == "backfill"]
    assert [(row.due_s, row.state) for row in rows] == [
        (60.0 * n, "succeeded") for n in range(1, 6)
    ]
    again = await ground.owners.backfills.start(TEAM, "job", ALL, dry_run=True)
    assert again.plan.left_out == {"it has a backfill run already, which is succeeded": 5}


async def test_the_newest_may_come_first(ground: Ground, made: Changed) -> None:
    await started(ground, order="newest", limit=2)
    assert await to_the_end(ground, await ground.all_leases(HOLDER)) == [4, 5, 2, 3, 1]


async def test_a_run_is_called_as_its_job_was_when_it_was_due(
    ground: Ground, made: Changed
) -> None:
    await started(ground)
    epochs = await ground.all_leases(HOLDER)
    [run] = await proceed(ground, epochs)
    [attempt] = await dequeued(ground, 1)
    assert (attempt.run_id, attempt.kind) == (run, Kind.BACKFILL)
    assert attempt.target == SPEC.target != LATER_TARGET
    repeated = await ground.dispatch.find_handout(Poll(EXECUTOR, 1, ["default"], 99))
    assert repeated is not None
    assert [again.target for again in repeated.attempts] == [SPEC.target]
    [running] = await ground.dispatch.running_runs(EXECUTOR, [run])
    assert running.policy == SPEC.retry
    [seen] = await ground.watch.executors()
    await ground.watch.declare_lost(EXECUTOR, seen.heartbeat_at)
    [(_, [abandoned])] = await ground.watch.abandoned_runs(9)
    assert abandoned.policy == SPEC.retry


async def test_what_runs_now_is_called_as_its_job_is(ground: Ground, made: Changed) -> None:
    await ground.owners.runs.trigger(TEAM, "job")
    [attempt] = await dequeued(ground, 1)
    assert attempt.target == LATER_TARGET
    [running] = await ground.dispatch.running_runs(EXECUTOR, [attempt.run_id])
    assert running.policy == LATER.retry


async def test_no_more_than_its_limit_is_unfinished_at_once(ground: Ground, made: Changed) -> None:
    await started(ground, limit=2)
    epochs = await ground.all_leases(HOLDER)
    assert len(await proceed(ground, epochs)) == 2
    assert await proceed(ground, epochs) == []
    attempts = await dequeued(ground, 1)
    await end(ground, attempts[:1])
    assert len(await proceed(ground, epochs)) == 1


async def test_a_step_that_is_repeated_or_comes_late_does_nothing(
    ground: Ground, made: Changed
) -> None:
    backfill = await started(ground, limit=2)
    epochs = await ground.all_leases(HOLDER)
    [found] = await ground.backfills.unfinished_backfills(epochs)
    first = await next_step(ground, found)
    assert len(await ground.backfills.proceed(HOLDER, epochs, first)) == 2
    assert await ground.backfills.proceed(HOLDER, epochs, first) == []
    shown = await ground.owners.backfills.pause(backfill.id)
    assert (shown.counts.made, shown.unfinished) == (2, {RunState.WAITING: 2})


async def test_a_step_without_the_lease_does_nothing(ground: Ground, made: Changed) -> None:
    await started(ground)
    epochs = await ground.all_leases(HOLDER)
    [found] = await ground.backfills.unfinished_backfills(epochs)
    late = await next_step(ground, found)
    stale = {partition: epoch - 1 for partition, epoch in epochs.items()}
    assert await ground.backfills.proceed(HOLDER, stale, late) == []
    assert await ground.backfills.proceed(OTHER, epochs, late) == []
    assert await backfilled(ground, made) == []
    assert len(await ground.backfills.proceed(HOLDER, epochs, late)) == 1


async def test_a_step_that_an_owner_came_before_does_nothing(ground: Ground, made: Changed) -> None:
    backfill = await started(ground)
    epochs = await ground.all_leases(HOLDER)
    [found] = await ground.backfills.unfinished_backfills(epochs)
    late = await next_step(ground, found)
    await ground.owners.backfills.pause(backfill.id)
    assert await ground.backfills.proceed(HOLDER, epochs, late) == []
    assert await proceed(ground, epochs) == []
    resumed = await ground.owners.backfills.resume(backfill.id)
    assert resumed.state is BackfillState.ACTIVE
    assert len(await proceed(ground, epochs)) == 1


async def test_what_a_cancelled_one_has_made_goes_on_or_ends_with_it(
    ground: Ground, made: Changed
) -> None:
    first = await started(ground, limit=2)
    epochs = await ground.all_leases(HOLDER)
    await proceed(ground, epochs)
    cancelled = await ground.owners.backfills.cancel(first.id)
    assert (cancelled.state, cancelled.unfinished) == (
        BackfillState.CANCELLED,
        {RunState.QUEUED: 2},
    )
    assert await proceed(ground, epochs) == []
    with pytest.raises(ConflictError):
        await started(ground)
    with_runs = await ground.owners.backfills.cancel(first.id, with_runs=True)
    assert (with_runs.unfinished, with_runs.counts.cancelled) == ({}, 2)
    await proceed(ground, epochs)
    second = await started(ground)
    assert second.counts.planned == 3
    with pytest.raises(ConflictError):
        await ground.owners.backfills.resume(first.id)


async def test_what_runs_meanwhile_is_left_out(ground: Ground, made: Changed) -> None:
    await started(ground)
    epochs = await ground.all_leases(HOLDER)
    ground.clock.move(60)
    await ground.agenda.claim(HOLDER, epochs, [claim(made.job.id, START + 6 * MINUTE, 2)])
    answer = await ground.owners.backfills.start(TEAM, "job", ALL, dry_run=True)
    assert answer.plan.left_out == {"its scheduled run is under way": 1}


async def test_what_is_not_claimed_yet_is_left_to_be_claimed(ground: Ground, made: Changed) -> None:
    ground.clock.move(60)
    answer = await ground.owners.backfills.start(TEAM, "job", ALL, dry_run=True)
    assert answer.plan.left_out == {"it is claimed still": 1}
    assert answer.backfill is None


async def test_a_run_that_is_due_now_and_waits_goes_first(ground: Ground, made: Changed) -> None:
    await started(ground)
    epochs = await ground.all_leases(HOLDER)
    job = made.job.id
    answer = await ground.agenda.claim(HOLDER, epochs, [claim(job, START + 6 * MINUTE, 2)])
    [found] = await ground.backfills.unfinished_backfills(epochs)
    assert (found.is_held_up, found.room) == (True, 0)
    await ground.admit(HOLDER, epochs, answer.waiting)
    [found] = await ground.backfills.unfinished_backfills(epochs)
    assert (found.is_held_up, found.room) == (False, 1)


async def test_the_end_of_a_job_is_that_of_its_backfill(ground: Ground, made: Changed) -> None:
    backfill = await started(ground)
    epochs = await ground.all_leases(HOLDER)
    await proceed(ground, epochs)
    await ground.owners.jobs.delete(TEAM, "job")
    await proceed(ground, epochs)
    assert await ground.backfills.unfinished_backfills(epochs) == []
    with pytest.raises(ConflictError, match="is cancelled"):
        await ground.owners.backfills.pause(backfill.id)


async def test_a_change_of_the_job_changes_no_past_due_time(ground: Ground, made: Changed) -> None:
    await started(ground)
    epochs = await ground.all_leases(HOLDER)
    await proceed(ground, epochs)
    hourly = msgspec.structs.replace(LATER, schedule=Schedule(every="1h"))
    await ground.owners.jobs.put(TEAM, hourly)
    await ground.owners.jobs.pause(TEAM, "job")
    assert await to_the_end(ground, epochs) == [1, 2, 3, 4, 5]


async def test_one_job_has_one_unfinished_backfill(ground: Ground, made: Changed) -> None:
    first = await started(ground)
    with pytest.raises(ConflictError, match=str(first.id)):
        await started(ground)
    twin = NewBackfill(OTHER, made.job.id, Span(START, START + MINUTE), 1, 1, "", [])
    assert await ground.owners.backfills._changes.create(twin) is False


@pytest.mark.parametrize(
    "schedule",
    [None, Schedule(every="1m", after="end"), Schedule(after=AfterJobs(["job"]))],
    ids=["none", "after end", "chain"],
)
async def test_a_job_without_due_times_of_its_own_is_refused(
    ground: Ground, schedule: Schedule | None
) -> None:
    await ground.owners.jobs.put(TEAM, SPEC)
    spec: JobSpec = msgspec.structs.replace(SPEC, name="other", schedule=schedule)
    await ground.owners.jobs.put(TEAM, spec)
    ground.clock.move(60)
    with pytest.raises(InvalidInputError, match="trigger it"):
        await ground.owners.backfills.start(TEAM, "other", ALL)


async def test_what_is_not_there_is_not_found(ground: Ground, made: Changed) -> None:
    with pytest.raises(NotFoundError):
        await ground.owners.backfills.start(TEAM, "other", ALL)
    for deed in (ground.owners.backfills.pause, ground.owners.backfills.cancel):
        with pytest.raises(NotFoundError):
            await deed(OTHER)


async def test_too_many_due_times_are_refused(
    ground: Ground, made: Changed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("matins.owners.backfills.DUE_MAX", 4)
    with pytest.raises(InvalidInputError, match="over 4 times"):
        await started(ground)


async def test_the_name_of_a_run_follows_from_its_due_time(ground: Ground, made: Changed) -> None:
    await started(ground)
    [run] = await proceed(ground, await ground.all_leases(HOLDER))
    assert run == run_id(made.job.id, START + MINUTE, "backfill")
    assert due_of(run) == START + MINUTE
