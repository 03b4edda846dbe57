"""When a run that follows others starts, and which jobs may follow which."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise, product
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ids import numbered

from matins.domain.jobs.chains import by_dependency, check_upstream, cycle
from matins.domain.jobs.changes import LockedJob
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.runs.chains import (
    LeaderRow,
    Link,
    UpstreamRun,
    claim_of,
    decide_link,
    newest_links,
    skipped_links,
)
from matins.domain.runs.states import FINAL, Kind, RunState
from matins.domain.schedules.after_jobs import AfterJobs, When
from matins.domain.schedules.parsing import problems
from matins.domain.schedules.schedule import Schedule
from matins.domain.timetables.compiling import Timing
from matins.domain.values.errors import InvalidInputError

NOW = datetime(2026, 11, 29, 2, tzinfo=UTC)
STATES = [*sorted(RunState), None]
WHENS: Sequence[When] = get_args(When)
TARGET = Target(command=CommandTarget(["true"]))


def link(when: When, *states: RunState | None, **fields: object) -> Link:
    runs = [
        UpstreamRun(f"job-{index}", state, finished_at=NOW if state in FINAL else None)
        for index, state in enumerate(states)
    ]
    return msgspec.structs.replace(Link(numbered(1), 7, 1, "default", when, NOW, runs), **fields)


def starts(when: When, states: Sequence[RunState | None]) -> bool | None:
    """Return what `when` says of the ends, by its words; None while that is not known."""
    is_open = any(state not in FINAL for state in states)
    won = [state is RunState.SUCCEEDED for state in states]
    lost = [state in (RunState.DEAD, RunState.CANCELLED) for state in states]
    skipped = [state is RunState.SKIPPED for state in states]
    match when:
        case "all_success":
            return False if any(lost) or any(skipped) else None if is_open else True
        case "any_success":
            return True if any(won) else None if is_open else False
        case "any_failure":
            return True if any(lost) else None if is_open else False
        case "all_done":
            return None if is_open else not all(skipped)


@pytest.mark.parametrize("when", WHENS)
def test_a_run_starts_by_the_ends_of_what_it_follows(when: When) -> None:
    for count in (1, 2, 3):
        for states in product(STATES, repeat=count):
            verdict = decide_link(link(when, *states))
            assert (None if verdict is None else verdict.starts) is starts(when, states), states
            assert verdict is None or verdict.starts or verdict.reason.startswith("upstream ")


@pytest.mark.parametrize("when", WHENS)
def test_what_is_decided_stays_so_whatever_else_ends(when: When) -> None:
    for states in product(STATES, repeat=2):
        before = decide_link(link(when, *states))
        if before is None:
            continue
        for ends in product(sorted(FINAL), repeat=2):
            after = [old if old in FINAL else new for old, new in zip(states, ends, strict=True)]
            decided = decide_link(link(when, *after))
            assert decided is not None
            assert decided.starts is before.starts


def test_many_due_times_that_were_skipped_start_nothing() -> None:
    for when in WHENS:
        until = NOW + timedelta(hours=1)
        verdict = decide_link(link(when, RunState.SKIPPED, due_until=until, due_count=60))
        assert verdict is not None
        assert not verdict.starts


def test_what_starts_is_asked_about_and_fires_when_the_last_has_ended() -> None:
    given_ = link("all_success", RunState.SUCCEEDED, RunState.SUCCEEDED)
    verdict = decide_link(given_)
    assert verdict is not None
    claim = claim_of(given_, verdict)
    assert (claim.kind, claim.state, claim.due_at) == (Kind.CHAINED, RunState.WAITING, NOW)
    assert claim.fire_at == NOW


def test_a_reason_is_cut_where_chains_are_long() -> None:
    runs = [UpstreamRun("a", RunState.DEAD, "x" * 2_000, NOW)]
    verdict = decide_link(msgspec.structs.replace(link("all_success"), upstream=runs))
    assert verdict is not None
    assert len(verdict.reason) == 500


# What a change records


def locked() -> LockedJob:
    spec = JobSpec("c", TARGET, Schedule(after=AfterJobs(["a"])))
    return LockedJob(
        numbered(3), "t", 1, 7, 1, JobState.ACTIVE, spec, Timing(NOW, NOW), (), NOW, NOW
    )


def leader_row(minute: int, **fields: object) -> LeaderRow:
    return msgspec.structs.replace(LeaderRow(NOW + timedelta(minutes=minute)), **fields)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60))
def test_each_row_of_the_leader_gets_one_that_covers_it(flags: list[tuple[bool, bool]]) -> None:
    rows = [
        leader_row(minute * 7, is_settled=settled, is_manual=manual)
        for minute, (settled, manual) in enumerate(flags)
    ]
    claims = skipped_links(locked(), rows, "paused")
    for row in rows:
        covering = [
            claim
            for claim in claims
            if claim.due_at == row.due_at
            or (
                not row.is_manual
                and claim.due_at <= row.due_at <= (claim.due_until or claim.due_at)
            )
        ]
        assert len(covering) == (0 if row.is_settled else 1), row
    assert sum(claim.due_count for claim in claims) == sum(not row.is_settled for row in rows)
    for claim in claims:
        assert claim.due_until is None or claim.due_until.date() == claim.due_at.date()


def test_the_newest_that_have_no_row_are_left_to_the_chain() -> None:
    rows = [leader_row(1), leader_row(2, is_settled=True), leader_row(3), leader_row(4)]
    assert newest_links(rows, 2) == rows[2:]
    assert newest_links(rows, 9) == [rows[0], *rows[2:]]


# Which jobs follow which


def job(name: str, *upstream: str) -> JobSpec:
    schedule = Schedule(after=AfterJobs(list(upstream))) if upstream else None
    return JobSpec(name, TARGET, schedule)


@given(st.lists(st.lists(st.integers(0, 7), max_size=3), min_size=8, max_size=8))
def test_a_circle_is_found_where_there_is_one(edges: list[list[int]]) -> None:
    upstream = {str(number): [str(edge) for edge in edges[number]] for number in range(8)}
    path = cycle(upstream)
    reached = {name: set(names) for name, names in upstream.items()}
    for middle, start in product(reached, repeat=2):
        if middle in reached[start]:
            reached[start] |= reached[middle]
    for _ in range(8):
        for names in reached.values():
            names.update(*[set(reached[name]) for name in names])
    assert bool(path) is any(name in names for name, names in reached.items())
    if path:
        assert path[0] == path[-1]
        assert all(before in upstream[after] for before, after in pairwise(path))


def test_a_circle_is_told_from_the_job_that_closes_it() -> None:
    known = {"load": ["extract"], "extract": []}
    with pytest.raises(InvalidInputError, match="extract → load → extract"):
        check_upstream(job("extract", "load"), known)
    check_upstream(job("report", "load", "extract"), known)


def test_jobs_are_put_after_those_that_they_follow() -> None:
    specs = [job("c", "b"), job("b", "a", "elsewhere"), job("a"), job("d", "a")]
    assert by_dependency(specs) == [[2], [1, 3], [0]]
    with pytest.raises(InvalidInputError, match=r"a → b → a|b → a → b"):
        by_dependency([job("a", "b"), job("b", "a")])


@pytest.mark.parametrize(
    ("schedule", "field", "message"),
    [
        (Schedule(after=AfterJobs([])), "after.jobs", "name 1 to 20"),
        (Schedule(after=AfterJobs(["a", "a"])), "after.jobs[1]", "write it once"),
        (Schedule(after=AfterJobs(["A"])), "after.jobs[0]", "can't be a name"),
        (Schedule(after=AfterJobs(["a"]), every="1m"), "every", "can't go with after"),
        (Schedule(after=AfterJobs(["a"]), jitter="1m"), "jitter", "can't go with after"),
        (Schedule(after=AfterJobs(["a"]), max_runs=3), "max_runs", "can't go with after"),
    ],
)
def test_what_makes_no_chain_is_refused(schedule: Schedule, field: str, message: str) -> None:
    [problem] = problems(schedule)
    assert problem.where == field
    assert message in problem.message
