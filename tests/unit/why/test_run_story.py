"""What is told of a run: its steps in the order of time, the verdict, and what to do."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from tests.unit.why.ground import (
    JOB,
    asked,
    attempt,
    facts,
    fleet,
    hour,
    job,
    revision,
    second,
)

from matins.domain.jobs.spec import JobState
from matins.domain.runs.admission.waiting import TO_BE_ADMITTED
from matins.domain.runs.outlook import Outlook, RunHolder
from matins.domain.runs.states import RunState
from matins.insight.why.explanation import Explanation, Standing
from matins.insight.why.facts import (
    Asked,
    GateSeen,
    PoolExecutor,
    SameDue,
    WaitingPlace,
)
from matins.insight.why.run_story import ATTEMPTS_TOLD, explain_run


def steps(told: Explanation) -> list[tuple[str, str]]:
    return [(step.step, step.text) for step in told.steps]


def test_a_run_that_succeeded_is_told_from_its_due_time_to_its_end() -> None:
    run = facts(RunState.SUCCEEDED, attempt=1, started_at=second(0.05), finished_at=second(2.05))
    attempts = [attempt(1, 0.05, 2.05, "succeeded", "")]
    told = explain_run(asked(), msgspec.structs.replace(run, attempts=attempts))
    assert steps(told) == [
        ("due", "by revision 1, in force since 2026-03-02T12:00:00Z: every hour, UTC"),
        ("claimed", "its run was made 10ms after its fire time"),
        ("attempt", "attempt 1 on worker-1, 40ms after its claim: succeeded after 2s"),
        ("ended", "succeeded"),
    ]
    assert [step.at for step in told.steps] == [hour(1), second(0.01), second(0.05), second(2.05)]
    assert told.so == "it ran, 50ms after its due time, and succeeded at attempt 1"
    assert (told.state, told.due_at, told.run) == (Standing.SUCCEEDED, hour(1), run.run.id)


def test_jitter_and_a_late_claim_are_told() -> None:
    run = facts(RunState.QUEUED, fire_at=second(192), claimed_at=second(4000))
    told = explain_run(asked(now=second(4001)), run)
    assert steps(told)[1:3] == [
        ("fires", "its fire time: jitter puts it 3m12s later"),
        ("claimed", "its run was made 1h3m28s after its fire time: it was missed, and caught up"),
    ]


@pytest.mark.parametrize(
    ("reason", "so"),
    [
        ("paused", "it did not run: the job was paused; "),
        ("quarantined", "it did not run: the job was quarantined; "),
        ("changed", "it did not run: the job was changed before it was claimed, and "),
        ("deleted", "it did not run: the job was deleted before it was claimed"),
        (
            "misfire: last",
            "the misfire policy `last` left it out; `matins backfill start payments/nightly` makes",
        ),
        ("calendar de: New Year", "it did not run: it is closed by calendar de: New Year"),
        (
            "calendar de: New Year; moved to 2026-01-02T02:00:00+01:00",
            "it did not run: it is closed by calendar de: New Year; moved to 2026-01-02T02:00",
        ),
        ("skipped by an override: release", "its owner skipped this occurrence: release"),
        ("skipped by an override", "it did not run: its owner skipped this occurrence"),
        ("moved to 2026-03-02T15:00:00+00:00: late", "its owner moved this occurrence to 2026-03"),
        ("maintenance db: {new disks}", "in a maintenance window that skips: db: {new disks};"),
        (
            "overlap: run X due Y is still running",
            "it did not run: run X due Y is still running, and the job's overlap policy skips; ",
        ),
        ("upstream extract failed: exit 1", "did not let it start: extract failed: exit 1; "),
        ("of another version", "it did not run: of another version"),
    ],
)
def test_what_was_skipped_says_why(reason: str, so: str) -> None:
    told = explain_run(asked(), facts(RunState.SKIPPED, reason=reason, finished_at=second(1)))
    assert so in told.so
    assert steps(told)[-1] == ("skipped", "recorded it as skipped")


def test_a_range_says_how_many_it_stands_for() -> None:
    run = facts(RunState.SKIPPED, reason="paused", due_until=hour(20), due_count=20)
    [*_, last] = steps(explain_run(asked(), run))
    assert last == ("skipped", "recorded 20 due times in a row as skipped")


@pytest.mark.parametrize(
    ("reason", "place", "so"),
    [
        (
            "held by maintenance db until 2026-03-02T15:00:00Z",
            WaitingPlace("window", "db"),
            "T15:00:00Z; it goes on by itself; at once by `matins windows delete payments/db`",
        ),
        (
            f"overlap: run {JOB} due 13:00 is still running",
            WaitingPlace("overlap"),
            f"run {JOB} due 13:00 is still running; `matins explain {JOB}` tells of that one, ",
        ),
        ("overlap: another is there", WaitingPlace("overlap"), "it starts when that has ended"),
        ("limit of 3 for vendor is taken", WaitingPlace("gate"), "or when the limit is raised"),
        (
            "limit of 3 for vendor is taken",
            WaitingPlace("gate", gate=GateSeen("key", "vendor", taken=3, before=0)),
            "is taken; 3 runs in; to let more in: `matins limits put payments/vendor`",
        ),
        (
            "limit of 1 for its job is taken",
            WaitingPlace("gate", gate=GateSeen("job", "", taken=1, before=2)),
            "; 2 runs before it in the line; 1 run in; to let more in: `max_running` or",
        ),
        (
            "rate of 5/s for its team is reached",
            WaitingPlace("gate", gate=GateSeen("team", "", taken=0, before=0)),
            "to let more in: `matins quotas set payments`",
        ),
        ("held by what is yet to be made", WaitingPlace("newer"), "held by what is yet to be made"),
        ("held by what is gone", None, "held by what is gone"),
        (
            TO_BE_ADMITTED,
            WaitingPlace("claim"),
            "it was claimed and is to be asked about; that takes",
        ),
    ],
)
def test_what_waits_says_for_what(reason: str, place: WaitingPlace | None, so: str) -> None:
    run = msgspec.structs.replace(facts(RunState.WAITING, reason=reason), place=place)
    told = explain_run(asked(), run)
    assert so in told.so
    assert (told.steps[-1].step, told.steps[-1].at) == ("waits", second(30))


def test_who_is_in_a_gate_is_named() -> None:
    holder = RunHolder(JOB, "extract", "running", second(5))
    place = WaitingPlace("gate", gate=GateSeen("key", "vendor", 1, 0, [holder]))
    run = msgspec.structs.replace(facts(RunState.WAITING, reason="taken"), place=place)
    told = explain_run(asked(), run)
    [step] = [step for step in told.steps if step.step == "holder"]
    assert (step.at, step.text) == (second(5), f"run {JOB} of extract is in, and is running")


def test_what_nobody_asks_about_says_that_no_scheduler_is_there() -> None:
    run = facts(RunState.WAITING, reason=TO_BE_ADMITTED)
    told = explain_run(Asked(job(), fleet(second(90), held=False)), run)
    assert told.so == (
        "it was claimed and is to be asked about; no scheduler is alive; the last was seen at"
        " 2026-03-02T12:00:00Z; start one with `matins scheduler`"
    )


def test_a_pool_without_executors_is_told_with_what_to_do() -> None:
    told = explain_run(asked(), facts(RunState.QUEUED, pool="gpu"))
    assert told.so == (
        "no executor serves pool gpu; start one with `MATINS_POOLS=gpu matins executor`"
    )
    assert steps(told)[-1] == ("queued", "on the queue of pool gpu: executors that serve it: 0")


def test_a_long_queue_is_told() -> None:
    since = {"default": hour(0.9)}
    told = explain_run(Asked(job(), fleet(hour(1.2), queued_since=since)), facts(RunState.QUEUED))
    assert told.so == (
        "the queue of pool default is 18m long; executors that serve it: 2;"
        " they have too few slots, or their runs hang"
    )


def test_what_is_before_it_and_when_it_will_start_is_told() -> None:
    run = facts(RunState.QUEUED)
    outlook = Outlook(*(run.run.id, RunState.QUEUED, "", "default", 7, True), starts_at=second(90))
    told = explain_run(asked(), msgspec.structs.replace(run, outlook=outlook))
    assert steps(told)[-1][1].endswith("executors that serve it: 2; before it: 7 runs")
    assert told.so.endswith(" has a free slot, probably at 2026-03-02T13:01:30Z")


def test_what_was_queued_a_moment_ago_waits_for_a_free_slot() -> None:
    told = explain_run(asked(), facts(RunState.QUEUED))
    assert told.so == (
        "it is on the queue, and starts when an executor of pool default has a free slot"
    )


RUNNING: dict[str, Any] = {"attempt": 2, "started_at": second(20)}


@pytest.mark.parametrize(
    ("executor", "more", "so"),
    [
        (
            PoolExecutor("worker-1", second(29)),
            {},
            "it runs: attempt 2 on worker-1, until 2026-03-02T13:10:20Z at the latest",
        ),
        (None, {}, "it runs: attempt 2 on an executor, until 2026-03-02T13:10:20Z at the latest"),
        (
            PoolExecutor("worker-1", second(-60)),
            {},
            "worker-1, which has it, has sent no heartbeat for 1m30s; when it is declared lost,",
        ),
        (
            PoolExecutor("worker-1", second(29)),
            {"cancel_at": second(25)},
            "its executor is told to stop it by its next heartbeat",
        ),
    ],
    ids=["runs", "unknown executor", "silent executor", "cancelled"],
)
def test_what_runs_says_where(executor: PoolExecutor | None, more: dict[str, Any], so: str) -> None:
    run = facts(RunState.RUNNING, **RUNNING, **more)
    run = msgspec.structs.replace(
        run, executor=executor, attempts=[attempt(1, 1, 2), attempt(2, 20, None)]
    )
    told = explain_run(asked(), run)
    assert told.so.startswith(so)
    assert [step.step for step in told.steps][2:4] == ["attempt", "runs"]
    assert ("cancel" in [step.step for step in told.steps]) is bool(more)


def test_what_is_tried_again_says_when_and_why() -> None:
    run = facts(RunState.RETRYING, attempt=1, reason="exit 1", retry_at=second(60))
    told = explain_run(asked(), msgspec.structs.replace(run, attempts=[attempt(1, 1, 2)]))
    again = f"it is tried again at 2026-03-02T13:01:00Z; now by `matins runs retry {told.run}`"
    assert told.so == f"attempt 1 ended with: exit 1; {again}"
    assert steps(told)[-1] == ("retry", "attempt 2 is due")
    late = explain_run(Asked(job(), fleet(second(200), held=False)), run)
    assert "its next attempt should have begun; no scheduler is alive" in late.so


def test_a_dead_run_tells_each_attempt_and_what_to_do() -> None:
    reason = "failed 2 times; at last: exit 1"
    run = facts(RunState.DEAD, attempt=2, reason=reason, finished_at=second(12))
    attempts = [attempt(1, 1, 2), attempt(2, 11, 12, "timed_out")]
    told = explain_run(asked(), msgspec.structs.replace(run, attempts=attempts))
    assert steps(told)[2:] == [
        ("attempt", "attempt 1 on worker-1, 990ms after its claim: failed after 1s: exit 1"),
        ("attempt", "attempt 2 on worker-1: timed out after 1s: exit 1"),
        ("ended", f"dead: {reason}"),
    ]
    assert told.so == (
        f"it ran, and is given up: {reason}; mend what it calls,"
        f" then `matins dead replay {run.run.id}`"
    )


def test_of_many_attempts_the_first_and_the_last_are_told() -> None:
    run = facts(RunState.DEAD, attempt=20, finished_at=second(200))
    attempts = [attempt(number, number * 10, number * 10 + 1) for number in range(1, 21)]
    told = explain_run(asked(), msgspec.structs.replace(run, attempts=attempts))
    tried = [text for step, text in steps(told) if step == "attempt"]
    assert len(tried) == ATTEMPTS_TOLD
    assert tried[0].endswith("; 14 attempts after it ended without success")
    assert tried[1].startswith("attempt 16 ")


def test_a_cancelled_run_says_by_whom() -> None:
    run = facts(RunState.CANCELLED, reason="cancelled by its owner", finished_at=second(9))
    assert explain_run(asked(), run).so == "it was ended: cancelled by its owner"


def test_what_is_not_due_by_itself_says_why_it_exists() -> None:
    [manual, *_] = steps(explain_run(asked(), facts(RunState.QUEUED, kind="manual")))
    assert manual == ("due", "triggered by its owner")
    [made_up, *_] = steps(explain_run(asked(), facts(RunState.QUEUED, kind="backfill")))
    assert made_up[1].startswith("made up for by a backfill, by revision 1, in force since 2026")


def test_a_due_time_that_was_made_up_for_names_both_runs() -> None:
    run = facts(RunState.SKIPPED, reason="misfire: last")
    made_up = SameDue(JOB, "backfill", "succeeded", second(20))
    told = explain_run(asked(), msgspec.structs.replace(run, others=[made_up]))
    assert steps(told)[-1] == (
        "other",
        f"a backfill made run {JOB} of the same due time, which is succeeded",
    )


def test_the_revision_is_the_one_that_was_in_force() -> None:
    told = job(revision(0), revision(0.5, 2), revision(2, 3, JobState.PAUSED))
    [due, *_] = steps(explain_run(asked(told), facts(RunState.QUEUED)))
    assert due[1].startswith("by revision 2, in force since 2026-03-02T12:30:00Z")


def test_a_run_of_a_job_that_can_not_be_read_is_told_all_the_same() -> None:
    told = job(revisions=[], fault="a stored revision can't be read: x")
    [due, *_] = steps(explain_run(asked(told), facts(RunState.RUNNING, **RUNNING)))
    assert due == ("due", "a stored revision can't be read: x")


@pytest.mark.parametrize("state", list(RunState))
def test_steps_come_in_the_order_of_time_in_each_state(state: RunState) -> None:
    ends: dict[str, Any] = {
        "started_at": second(1),
        "finished_at": second(9),
        "retry_at": second(99),
    }
    run = facts(state, attempt=1, cancel_at=second(3), reason="x", **ends)
    told = explain_run(asked(), msgspec.structs.replace(run, attempts=[attempt(1, 1, 2)]))
    instants = [step.at for step in told.steps]
    assert instants == sorted(instants)
    assert told.so
    assert all(step.at < second(30) + timedelta(hours=1) for step in told.steps)


def test_each_state_of_a_run_is_a_standing() -> None:
    assert {Standing(state) for state in RunState} < set(Standing)
