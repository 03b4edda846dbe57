"""Levels: whether a job is bad by a rule, from its runs and the clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest

from matins.domain.alerts.facts import JobFacts, SeenRun
from matins.domain.alerts.judging import Subject, judge
from matins.domain.alerts.levels import Look, look
from matins.domain.alerts.ruling import expected_by, rules_of
from matins.domain.jobs.alerting import AlertRule, AlertRules
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.runs.states import Kind, RunState
from matins.domain.schedules.schedule import Schedule
from matins.domain.timetables.compiling import compile_schedule

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
SPEC = JobSpec("nightly", Target(command=CommandTarget(["true"])), Schedule(cron="0 * * * *"))
MINUTE = timedelta(minutes=1)


def run(minute: float, state: str, **columns: Any) -> SeenRun:
    """A run that was due so many minutes after noon, and took a second if it is over."""
    at = NOON + minute * MINUTE
    begun = state not in ("queued", "waiting", "skipped")
    fields: dict[str, Any] = {
        "id": UUID(int=int(minute * 60) + 10**6),
        "kind": Kind.SCHEDULED,
        "state": RunState(state),
        "due_at": at,
        "fire_at": at,
        "claimed_at": at,
        "started_at": at if begun else None,
        "finished_at": None if state in ("queued", "waiting", "running") else at + MINUTE / 60,
        "attempt": int(begun),
        "reason": "exit code 1" if state == "dead" else "",
        "due_count": 1,
    }
    return SeenRun(**fields | columns)


def facts(now: float, *runs: SeenRun, **fields: Any) -> JobFacts:
    seen = JobFacts(
        now=NOON + now * MINUTE,
        job_id=UUID(int=1),
        spec=SPEC,
        state=JobState.ACTIVE,
        reason="",
        changed_at=NOON - 60 * MINUTE,
        runs=sorted(runs, key=lambda seen: seen.due_at, reverse=True),
        watched_from=NOON - MINUTE,
        expect_from=NOON - MINUTE,
    )
    return msgspec.structs.replace(seen, **fields)


def is_bad(result: Look) -> bool | None:
    return None if result.level is None else result.level.is_bad


LATE = AlertRule("late", after="10m")
SLOW = AlertRule("too_slow", over="5m")
FAST = AlertRule("too_fast", under="10s")


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (facts(5, run(0, "queued")), None),
        (facts(10, run(0, "queued")), True),
        (facts(15, run(0, "running", started_at=NOON + 9 * MINUTE)), False),
        (facts(15, run(0, "running", started_at=NOON + 11 * MINUTE)), True),
        (facts(20, run(0, "waiting", reason="held by maintenance")), True),
        (facts(20, run(0, "skipped")), None),
        (facts(20, next_fire_at=NOON, next_due_at=NOON), True),
        (facts(20, run(0, "succeeded"), next_fire_at=NOON + 15 * MINUTE), False),
        (facts(20, run(0, "running"), state=JobState.PAUSED), None),
    ],
)
def test_late_is_what_has_not_begun_in_time(seen: JobFacts, expected: bool | None) -> None:
    assert is_bad(look(LATE, seen, None)) is expected


def test_a_start_that_is_to_come_is_looked_at_when_it_would_be_late() -> None:
    ahead = facts(1, run(0, "queued"), next_fire_at=NOON + 60 * MINUTE)
    assert look(LATE, ahead, None).again_at == NOON + 10 * MINUTE
    ahead = facts(1, run(0, "succeeded"), next_fire_at=NOON + 60 * MINUTE)
    assert look(LATE, ahead, None).again_at == NOON + 70 * MINUTE


@pytest.mark.parametrize(
    ("now", "runs", "expected"),
    [
        (65, [run(0, "succeeded")], None),
        (70, [run(0, "succeeded")], "at 2026-12-01T13:00:00Z and nobody has claimed it"),
        (130, [run(60, "succeeded"), run(0, "succeeded")], "at 2026-12-01T14:00:00Z"),
        (130, [run(0, "skipped", due_until=NOON + 60 * MINUTE, due_count=2)], "T14:00:00Z"),
        (70, [run(60, "succeeded", kind=Kind.MANUAL), run(0, "succeeded")], "T13:00:00Z"),
    ],
)
def test_what_is_due_next_is_late_though_the_row_of_the_job_was_not_written_any_more(
    now: float, runs: list[SeenRun], expected: str | None
) -> None:
    """A scheduler that froze straight after a claim has not written when the job is due next."""
    spec = msgspec.structs.replace(SPEC, alerts=[AlertRule("late", after="10m")])
    seen = facts(now, *runs, spec=spec, next_due_at=NOON, next_fire_at=NOON)
    schedule = compile_schedule(Schedule(cron="0 * * * *"), seed="", anchor=NOON)
    judged = judge(Subject(seen, "payments", None, True, 1.0, 1, timetable=schedule))
    standing = judged.standings.get("late 10m")
    if expected is None:
        assert standing is None
        assert judged.look_at <= NOON + 70 * MINUTE
    else:
        assert standing is not None
        assert expected in standing.reason


def test_missed_is_told_though_the_newest_due_time_ran() -> None:
    skip = run(0, "skipped", reason="misfire: last", due_count=4, claimed_at=NOON + 30 * MINUTE)
    ran = run(30, "succeeded")
    result = look(AlertRule("missed"), facts(31, skip, ran), None)
    assert result.level is not None
    assert result.level.is_bad
    assert "4 due times were missed" in result.level.reason
    assert is_bad(look(AlertRule("missed"), facts(31, skip, ran), result.level.mark)) is False
    assert is_bad(look(AlertRule("missed"), facts(31, skip), result.level.mark)) is True
    other = run(0, "skipped", reason="overlap")
    assert is_bad(look(AlertRule("missed"), facts(31, other), None)) is False


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (facts(6, run(0, "running")), True),
        (facts(4, run(0, "running")), None),
        (facts(9, run(0, "succeeded", finished_at=NOON + 6 * MINUTE)), True),
        (facts(9, run(0, "succeeded")), False),
        (facts(9, run(0, "dead", finished_at=NOON + 6 * MINUTE)), None),
    ],
)
def test_too_slow_is_seen_while_it_runs_and_after_it(seen: JobFacts, expected: bool | None) -> None:
    assert is_bad(look(SLOW, seen, None)) is expected


def test_a_running_run_is_looked_at_when_it_would_be_too_slow() -> None:
    result = look(SLOW, facts(4, run(0, "running")), None)
    assert result.again_at is not None
    assert result.again_at <= NOON + 5 * MINUTE


def test_too_fast_is_a_success_in_no_time() -> None:
    assert is_bad(look(FAST, facts(9, run(0, "succeeded")), None)) is True
    slow = run(0, "succeeded", finished_at=NOON + MINUTE)
    assert is_bad(look(FAST, facts(9, slow), None)) is False
    assert is_bad(look(FAST, facts(9, run(0, "dead")), None)) is None


@pytest.mark.parametrize(("over", "took", "expected"), [("2p95", 19, False), ("2p95", 21, True)])
def test_a_job_is_measured_by_its_own_runs(over: str, took: int, expected: bool) -> None:
    usual = [
        run(minute, "succeeded", finished_at=NOON + (minute + 10 / 60) * MINUTE)
        for minute in range(20)
    ]
    newest = run(30, "succeeded", finished_at=NOON + (30 + took / 60) * MINUTE)
    rule = AlertRule("too_slow", over=over)
    assert is_bad(look(rule, facts(40, *usual, newest), None)) is expected
    assert is_bad(look(rule, facts(40, *usual[:5], newest), None)) is None


@pytest.mark.parametrize(
    ("states", "rule", "expected"),
    [
        (["dead", "dead"], AlertRule("failed", times=2), True),
        (["dead", "succeeded", "dead"], AlertRule("failed", times=2), False),
        (["dead", "succeeded", "dead"], AlertRule("failed", times=2, of=3), True),
        (["dead", "succeeded", "succeeded", "dead"], AlertRule("failed", times=2, of=3), False),
        (["dead"], AlertRule("failed", times=2), False),
        (["dead", "skipped", "cancelled", "dead"], AlertRule("failed", times=2), True),
        (["skipped"], AlertRule("failed", times=1), None),
    ],
)
def test_failures_are_counted_among_the_runs_that_were_tried(
    states: list[str], rule: AlertRule, expected: bool | None
) -> None:
    runs = [run(minute, state) for minute, state in enumerate(states)]
    assert is_bad(look(rule, facts(60, *runs), None)) is expected


def test_what_died_before_anybody_was_to_be_told_is_not_told() -> None:
    seen = facts(60, run(-10, "dead"))
    assert is_bad(look(AlertRule("dead"), seen, None)) is None


def test_an_older_run_that_dies_later_is_a_dead_run_all_the_same() -> None:
    slow = run(0, "dead", finished_at=NOON + 10 * MINUTE)
    seen = facts(11, slow, run(1, "succeeded"))
    assert is_bad(look(AlertRule("dead"), seen, None)) is True


@pytest.mark.parametrize(
    ("schedule", "base", "took_s", "expected"),
    [
        (Schedule(cron="0 2 * * *"), NOON, 3600.0, "2026-12-03T03:00"),
        (
            Schedule(cron="0 2 * * 1-5"),
            datetime(2026, 12, 4, 12, tzinfo=UTC),
            0.0,
            "2026-12-08T02:00",
        ),
        (Schedule(every="10s"), NOON, 2.0, "2026-12-01T12:01"),
        (Schedule(every="1m"), NOON, 300.0, "2026-12-01T12:07"),
    ],
)
def test_a_success_is_expected_within_twice_the_period(
    schedule: Schedule, base: datetime, took_s: float, expected: str
) -> None:
    timetable = compile_schedule(schedule, seed="", anchor=NOON)
    by = expected_by(timetable, base, took_s)
    assert by is not None
    assert f"{by:%Y-%m-%dT%H:%M}" == expected


def test_a_success_before_the_job_was_expected_to_run_again_is_not_told_as_its_last() -> None:
    rule = AlertRule("did_not_run", within="1h")
    succeeded = facts(5, succeeded_at=NOON - 30 * MINUTE, expect_from=NOON - 60 * MINUTE)
    before = look(rule, succeeded, None).level
    assert before is not None
    assert before.reason == "it succeeded at 2026-12-01T11:30:00Z"
    resumed = msgspec.structs.replace(succeeded, expect_from=NOON)
    after = look(rule, resumed, None).level
    assert after is not None
    assert after.reason == "it has time yet"


def test_what_is_due_no_more_is_not_expected() -> None:
    timetable = compile_schedule(Schedule(at=["2026-12-01T13:00:00Z"]), seed="", anchor=NOON)
    assert expected_by(timetable, NOON, 0.0) is None


def test_without_a_schedule_the_period_must_be_said() -> None:
    bare = msgspec.structs.replace(SPEC, schedule=None, alerts=[AlertRule("did_not_run")])
    assert [problem.where for problem in bare.problems()] == ["alerts[0].within"]
    bounded = msgspec.structs.replace(bare, alerts=[AlertRule("did_not_run", within="1d")])
    assert bounded.problems() == []


def test_a_jobs_own_rules_count_before_those_of_its_team_and_those_before_the_defaults() -> None:
    wide = AlertRules("wide", [AlertRule("late", after="1h"), AlertRule("dead", to=["wide"])])
    gold = AlertRules("gold", [AlertRule("late", after="10m")], {"tier": "gold"})
    other = AlertRules("other", [AlertRule("missed")], {"tier": "iron"})
    spec = msgspec.structs.replace(
        SPEC, labels={"tier": "gold"}, alerts=[AlertRule("did_not_run", off=True)]
    )
    rules = rules_of(spec, [gold, other, wide])
    assert set(rules) == {"dead", "quarantined", "recovered", "late 10m"}
    assert rules["dead"].to == ["wide"]
