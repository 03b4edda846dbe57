"""What is told of an instant without a run: whether the job was due then, and what is near."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from tests.unit.why.ground import HOURLY, asked, facts, fleet, hour, job, revision, second

from matins.domain.audit import LedgerRow
from matins.domain.jobs.spec import JobState
from matins.domain.jobs.windows import Policy, Window
from matins.domain.runs.states import RunState
from matins.domain.schedules.schedule import Override, Schedule
from matins.insight.why.due_story import (
    explain_due,
    first_to_come,
    last_unrecorded,
    with_outlook,
)
from matins.insight.why.explanation import Explanation, Standing
from matins.insight.why.facts import Asked, DueFacts, ExplainedJob
from matins.insight.why.run_story import explain_run


def explained(
    at: datetime, told: ExplainedJob | None = None, now: datetime | None = None
) -> Explanation:
    return explain_due(asked(told, now=now or hour(3.5)), DueFacts(at))


def near(told: Explanation) -> list[tuple[datetime, str]]:
    return [(step.at, step.step) for step in told.steps if step.step in {"before", "next"}]


def test_an_instant_that_is_no_due_time_has_the_nearest_ones() -> None:
    told = explained(hour(1.5))
    assert (told.state, told.due_at, told.run) == ("not_due", None, None)
    assert near(told) == [(hour(1), "before"), (hour(2), "next")]
    assert told.so == "it was not due then: every hour, UTC"


def test_the_nearest_due_times_belong_to_the_revisions_that_were_in_force() -> None:
    daily = Schedule(cron="0 0 * * *")
    told = job(revision(0), revision(2.25, 2, schedule=daily), revision(5.5, 3))
    assert near(explained(hour(2.5), told)) == [(hour(2), "before"), (hour(6), "next")]
    assert near(explained(hour(5.25), told)) == [(hour(2), "before"), (hour(6), "next")]


def test_before_the_job_was_made_nothing_was_due() -> None:
    told = explained(hour(-3))
    assert (told.state, told.so) == ("not_due", "the job was not there yet")
    assert [(step.step, step.at) for step in told.steps] == [
        ("asked", hour(-3)),
        ("made", hour(0)),
        ("next", hour(1)),
    ]


def test_a_deleted_job_is_due_no_more() -> None:
    told = explained(hour(3), job(revision(0), revision(2.5, 2, JobState.DELETED)))
    assert (told.state, told.so) == ("deleted", "the job was deleted at 2026-03-02T14:30:00Z")
    assert near(told) == [(hour(2), "before")]


def test_a_job_without_a_schedule_runs_when_it_is_triggered() -> None:
    told = explained(hour(1), job(revision(0, schedule=None)))
    assert (told.state, near(told)) == ("no_schedule", [])
    assert "matins jobs trigger payments/nightly" in told.so


def test_a_job_that_follows_ends_says_what_it_waits_for() -> None:
    told = job(revision(0, schedule=Schedule(every="5m", after="end")), follows=hour(1))
    assert "that of 2026-03-02T13:00:00Z comes first" in explained(hour(2), told).so
    told = job(*told.revisions, follows=hour(1), next_due_at=hour(2.1))
    assert "the next one is 2026-03-02T14:06:00Z" in explained(hour(2), told).so


SKIP = Override(hour(5), None, "release day")
MOVE = Override(hour(5), hour(5.25), "")


@pytest.mark.parametrize(
    ("override", "so"),
    [
        (SKIP, "it will not run: its owner skipped this occurrence: release day"),
        (MOVE, "its owner moved this occurrence to 2026-03-02T17:15:00+00:00"),
    ],
)
def test_what_is_to_come_and_will_not_run_says_why(override: Override, so: str) -> None:
    told = explained(hour(5), job(revision(0, overrides=(override,))))
    assert told.state == "to_come"
    assert so in told.so


def test_what_was_moved_is_due_where_it_was_moved_to() -> None:
    told = explained(hour(5.25), job(revision(0, overrides=(MOVE,))))
    assert told.so == "it is still to come: it will be claimed at 2026-03-02T17:15:00Z"


@pytest.mark.parametrize(
    ("policy", "so"),
    [
        ("hold", "will wait: held by maintenance db until 2026-03-02T18:00:00Z"),
        ("skip", "will be skipped: maintenance db"),
    ],
)
def test_what_is_to_come_says_which_window_it_will_meet(policy: Policy, so: str) -> None:
    window = Window("db", hour(4.5), hour(6), policy)
    told = explain_due(asked(now=hour(3.5)), DueFacts(hour(5), windows=[window]))
    assert (told.state, told.so) == ("to_come", f"it is still to come, and {so}")


def test_jitter_is_told_of_what_is_to_come_and_of_what_is_near() -> None:
    told = job(revision(0, schedule=Schedule(cron="0 * * * *", jitter="30m")))
    coming = explained(hour(5), told)
    [_, fires] = coming.steps
    assert (fires.step, coming.steps[0].at) == ("fires", hour(5))
    assert timedelta(0) < fires.at - hour(5) <= timedelta(minutes=30)
    before = explained(fires.at, told)
    assert before.so == "the due time before it had not fired yet; ask for that one"
    assert ", which fires " in before.steps[0].text


@pytest.mark.parametrize("state", [JobState.PAUSED, JobState.QUARANTINED])
def test_what_was_due_in_a_pause_that_lasts_has_no_row(state: JobState) -> None:
    stopped = job(revision(0), revision(1.5, 2, state), revision(1.7, 3, state), reason="why")
    told = explained(hour(3), stopped)
    assert told.state == Standing(state)
    assert told.so.startswith(f"the job is {state}: why; ")
    assert [(step.at, step.step) for step in told.steps] == [
        (hour(1.5), "stopped"),
        (hour(3), "due"),
        (hour(3.5), "now"),
    ]
    assert explained(hour(4), stopped).so.startswith(f"it will not run: the job is {state}; ")


def test_a_pause_with_an_end_is_over_by_itself() -> None:
    told = job(revision(0), revision(1.5, 2, JobState.PAUSED), paused_until=hour(4.5))
    assert explained(hour(3), told).so == (
        "the job is paused; it goes on by itself at 2026-03-02T16:30:00Z, at once by"
        " `matins jobs resume payments/nightly`"
    )
    assert explained(hour(4), told).state == "paused"
    assert explained(hour(5), told).state == "to_come"


def test_a_range_of_skipped_due_times_answers_for_each_of_them() -> None:
    row = LedgerRow(hour(1), RunState.SKIPPED, "paused", hour(9), claimed_at=hour(9.5))
    told = explain_due(asked(now=hour(10)), DueFacts(hour(4), row))
    assert (told.state, told.due_at) == (Standing.SKIPPED, hour(4))
    assert told.so.startswith("it did not run: the job was paused; ")
    assert told.steps[-1].text == (
        "recorded all from 2026-03-02T13:00:00Z to 2026-03-02T21:00:00Z as skipped"
    )
    other = explain_due(asked(now=hour(10)), DueFacts(hour(4.5), row))
    assert other.state == "not_due"


def test_what_is_purged_is_told_as_purged() -> None:
    told = explained(hour(1), job(purged_until=hour(2)))
    assert (told.state, told.so.split(":")[0]) == ("purged", "what became of it is not kept")


def test_what_was_due_a_moment_ago_will_be_claimed() -> None:
    told = explained(hour(1), now=second(2))
    assert (told.state, told.so) == (
        "to_be_claimed",
        "it is due now, and will be claimed in a moment",
    )


def test_what_no_scheduler_claims_is_told_with_what_to_do() -> None:
    unclaimed = Asked(job(watermark=hour(0)), fleet(hour(1.5), held=False))
    told = explain_due(unclaimed, DueFacts(hour(1)))
    assert told.state == "to_be_claimed"
    assert told.so == (
        "it should have been claimed 30m ago, and was not: no scheduler is alive; the last was"
        " seen at 2026-03-02T12:00:00Z; start one with `matins scheduler`;"
        " then misfire policy `last` decides"
    )


def test_what_a_scheduler_is_behind_with_is_told() -> None:
    told = explain_due(asked(job(watermark=hour(0)), now=hour(1.5)), DueFacts(hour(1)))
    assert ": the scheduler of partition " in told.so
    assert " is behind; then misfire" in told.so


def test_a_due_time_that_has_no_row_though_it_should_is_missing() -> None:
    told = explained(hour(1), job(watermark=hour(3)))
    assert told.state == "missing"
    assert "`matins audit --job payments/nightly`" in told.so


def test_a_job_that_can_not_be_read_says_so() -> None:
    told = explained(hour(1), job(revisions=[], fault="a stored revision can't be read: x"))
    assert (told.state, told.so) == ("unreadable", "a stored revision can't be read: x")


def test_a_schedule_that_can_not_be_computed_says_so() -> None:
    broken = Schedule(cron="0 * * * *", timezone="Mars/Olympus")
    told = explained(hour(1), job(revision(0, schedule=broken)))
    assert told.state == "unreadable"
    assert told.so.startswith("its due times can't be computed: ")


def test_the_last_due_time_without_a_row_is_found() -> None:
    now = asked(now=hour(3.5))
    assert last_unrecorded(now, hour(2)) == hour(3)
    assert last_unrecorded(now, hour(3)) is None
    assert last_unrecorded(asked(now=hour(0.5)), None) is None
    assert first_to_come(now) == hour(4)


def test_of_a_job_it_is_told_what_comes_next_that_will_run() -> None:
    told = job(revision(0, overrides=(Override(hour(4), None, ""),)))
    now = asked(told, now=hour(3.5))
    ended = explain_run(now, facts(RunState.SUCCEEDED, attempt=1, finished_at=second(5)))
    last = with_outlook(now, ended).steps[-1]
    assert (last.at, last.step, last.text) == (hour(5), "next", "the next due time that will run")


def test_of_a_job_that_is_stopped_it_is_told_that_nothing_comes_next() -> None:
    told = job(revision(0, schedule=HOURLY), revision(1.5, 2, JobState.PAUSED))
    now = asked(told, now=hour(1.7))
    ended = explain_run(now, facts(RunState.SUCCEEDED, attempt=1, finished_at=second(5)))
    outlook = with_outlook(now, ended)
    assert outlook.steps[-1].step == "stopped"
    assert outlook.so == (
        f"{ended.so}; now the job is paused; go on with `matins jobs resume payments/nightly`"
    )
    running = explain_run(now, facts(RunState.RUNNING, attempt=1, started_at=second(5)))
    assert with_outlook(now, running).so == running.so
