"""The scheduler's memory: what comes later in it is never undone by what it learned before."""

from __future__ import annotations

from uuid import UUID

import msgspec

from matins.domain.jobs.misfire import Misfire
from matins.domain.jobs.spec import JobState
from matins.domain.runs.claims import DueJob
from matins.domain.schedules.schedule import Schedule
from matins.domain.timetables.compiling import Timing
from matins.scheduler.planning import LoadedJob, instant_of, slot_of
from matins.scheduler.working_set import WorkingSet
from matins.testing.virtual import START

T0 = slot_of(START)
JOB = DueJob(
    id=UUID(int=1),
    partition=7,
    revision=3,
    state=JobState.ACTIVE,
    schedule=Schedule(every="10s", after="end"),
    timing=Timing(START, START),
    misfire=Misfire(),
    pool="default",
    next_due_at=START,
    next_fire_at=START,
    overlap="skip",
    open_since=START,
)


def due(second: int) -> DueJob:
    """Return the job, due so many seconds after the start."""
    at = instant_of(T0 + second)
    return msgspec.structs.replace(JOB, next_due_at=at, next_fire_at=at)


def claimed(working_set: WorkingSet, second: int) -> LoadedJob:
    """Put the job into memory, fire it and settle its claim."""
    working_set.extend_horizon(T0 + 100)
    working_set.put(due(second))
    working_set.fire(T0 + second)
    entry = working_set.pop_due()
    assert entry is not None
    working_set.advance(entry, None)
    return entry


def test_a_claim_that_is_still_to_be_written_holds_against_what_the_database_tells() -> None:
    working_set = WorkingSet()
    claimed(working_set, 10)
    working_set.replace(due(10))
    assert working_set.find(JOB.id) is None


def test_it_does_not_hold_against_a_later_due_time() -> None:
    working_set = WorkingSet()
    claimed(working_set, 10)
    working_set.replace(due(30))
    entry = working_set.find(JOB.id)
    assert entry is not None
    assert entry.due_s == T0 + 30


def test_what_follows_is_fired_and_nothing_older_is_written() -> None:
    working_set = WorkingSet()
    claimed(working_set, 10)
    working_set.put_followed(due(30))
    assert working_set.take_advances(9) == []
    working_set.fire(T0 + 30)
    entry = working_set.pop_due()
    assert entry is not None
    assert entry.due_s == T0 + 30


def test_a_claim_that_was_under_way_meanwhile_undoes_nothing() -> None:
    working_set = WorkingSet()
    working_set.extend_horizon(T0 + 100)
    working_set.put(due(10))
    working_set.fire(T0 + 10)
    again = working_set.pop_due()
    assert again is not None
    working_set.put_followed(due(30))
    working_set.advance(again, None)
    entry = working_set.find(JOB.id)
    assert entry is not None
    assert entry.due_s == T0 + 30
    [(_, written)] = working_set.take_advances(9)
    assert (written.next_due_at, written.accounted_until) == (None, instant_of(T0 + 10))
