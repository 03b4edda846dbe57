"""The scheduler's memory: what comes later in it is never undone by what it learned before."""

from __future__ import annotations

from uuid import UUID

import msgspec

from matins.domain.jobs.misfire import Misfire
from matins.domain.jobs.spec import JobState
from matins.domain.runs.claims import DueJob
from matins.domain.schedules.schedule import Schedule
from matins.domain.timetables.compiling import Timing
from matins.scheduler.planning import Entry, instant_of, slot_of
from matins.scheduler.roster import Roster
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
)


def due(second: int) -> DueJob:
    """The job, due so many seconds after the start."""
    at = instant_of(T0 + second)
    return msgspec.structs.replace(JOB, next_due_at=at, next_fire_at=at)


def claimed(roster: Roster, second: int) -> Entry:
    """Put the job into memory, fire it and settle its claim."""
    roster.horizon_s = T0 + 100
    roster.put(due(second))
    roster.fire(T0 + second)
    entry = roster.due.popleft()
    roster.settle(entry, None)
    return entry


def test_a_claim_that_is_still_to_be_written_holds_against_what_the_database_tells() -> None:
    roster = Roster()
    claimed(roster, 10)
    roster.replace(due(10))
    assert roster.entries == {}


def test_it_does_not_hold_against_a_later_due_time() -> None:
    roster = Roster()
    claimed(roster, 10)
    roster.replace(due(30))
    assert roster.entries[JOB.id].due_s == T0 + 30


def test_what_follows_is_fired_and_nothing_older_is_written() -> None:
    roster = Roster()
    claimed(roster, 10)
    roster.follow(due(30))
    assert roster.take_advances(9) == []
    roster.fire(T0 + 30)
    assert [entry.due_s for entry in roster.due] == [T0 + 30]


def test_a_claim_that_was_under_way_meanwhile_undoes_nothing() -> None:
    roster = Roster()
    roster.horizon_s = T0 + 100
    roster.put(due(10))
    roster.fire(T0 + 10)
    again = roster.due.popleft()
    roster.follow(due(30))
    roster.settle(again, None)
    assert roster.entries[JOB.id].due_s == T0 + 30
    [(_, written)] = roster.take_advances(9)
    assert (written.next_due_at, written.accounted_until) == (None, instant_of(T0 + 10))
