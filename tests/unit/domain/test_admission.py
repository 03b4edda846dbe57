"""What admission makes of a run, by what may hold it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
import pytest

from matins.domain.jobs.windows import Window
from matins.domain.runs.admission.deciding import ask, decide
from matins.domain.runs.admission.waiting import (
    ADMITTED,
    CLAIM,
    RETRY,
    AdmissionFacts,
    Candidate,
    Question,
    Rules,
    Waiting,
)
from matins.domain.runs.admission.windows import CAUSE
from matins.domain.runs.states import Kind, RunState

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
RUN, JOB = UUID(int=1), UUID(int=2)


def minute(number: float) -> datetime:
    """So many minutes after noon."""
    return NOON + timedelta(minutes=number)


def candidate(cause: str = CLAIM, at: float = 1, **given: object) -> Candidate:
    """Return a run that was to fire, and was claimed, some minutes after noon."""
    made = Candidate(
        RUN,
        minute(at),
        minute(at),
        Kind.SCHEDULED,
        RunState.WAITING,
        cause=cause,
        fire_at=minute(at),
        job_id=JOB,
        job_revision=1,
        open_since=NOON,
        labels={"tier": "gold"},
    )
    return msgspec.structs.replace(made, **given)


def window(first: float, last: float, **given: object) -> Window:
    """Return a window that holds, from one minute after noon to another."""
    return msgspec.structs.replace(Window("w", minute(first), minute(last)), **given)


def state(run: Candidate, *windows: Window, at: float = 1) -> RunState:
    """Return what becomes of a run, some minutes after noon."""
    return ask(Question(run, Rules(1, windows), minute(at))).state


@pytest.mark.parametrize(
    ("cause", "policy", "becomes"),
    [
        (CLAIM, "hold", RunState.WAITING),
        (CLAIM, "skip", RunState.SKIPPED),
        (RETRY, "hold", RunState.WAITING),
        (RETRY, "skip", RunState.QUEUED),
        (CAUSE, "hold", RunState.WAITING),
        (CAUSE, "skip", RunState.WAITING),
    ],
)
def test_a_window_decides_by_its_policy_and_by_what_the_run_waited_for(
    cause: str, policy: str, becomes: RunState
) -> None:
    assert state(candidate(cause), window(1, 4, policy=policy)) is becomes


def test_a_window_is_over_at_its_last_instant() -> None:
    assert state(candidate(at=4), window(1, 4), at=4) is RunState.QUEUED


def test_of_windows_that_hold_the_last_to_end_decides() -> None:
    verdict = ask(
        Question(candidate(), Rules(1, [window(1, 3), window(0, 4, name="long")]), minute(1))
    )
    assert (verdict.until, verdict.cause, verdict.blocker) == (minute(4), CAUSE, "long")
    assert verdict.reason == "held by maintenance long until 2026-03-02T12:04:00Z"


def test_a_window_that_skips_goes_before_one_that_holds() -> None:
    skipping = window(1, 2, name="short", policy="skip", reason="disks")
    verdict = ask(Question(candidate(), Rules(1, [window(1, 9), skipping]), minute(1)))
    assert (verdict.state, verdict.reason) == (RunState.SKIPPED, "maintenance short: disks")


def test_what_was_to_fire_in_a_window_that_skipped_is_skipped_however_late() -> None:
    skipped = window(1, 2, policy="skip")
    assert state(candidate(claimed_at=minute(90)), skipped, at=90) is RunState.SKIPPED
    assert state(candidate(at=2, claimed_at=minute(90)), skipped, at=90) is RunState.QUEUED


def test_what_was_claimed_in_a_window_that_skips_is_skipped_when_it_is_asked_about_later() -> None:
    late = candidate(at=0, claimed_at=minute(1))
    assert state(late, window(1, 2, policy="skip"), at=5) is RunState.SKIPPED


def test_what_was_claimed_before_a_window_that_skips_waits_for_its_end() -> None:
    assert state(candidate(at=0), window(1, 2, policy="skip"), at=1) is RunState.WAITING


def test_a_window_is_for_jobs_with_its_labels() -> None:
    assert state(candidate(), window(1, 4, labels={"tier": "gold"})) is RunState.WAITING
    assert state(candidate(), window(1, 4, labels={"tier": "tin"})) is RunState.QUEUED


def test_what_someone_triggered_is_held_by_no_window() -> None:
    assert state(candidate(kind=Kind.MANUAL), window(1, 4)) is RunState.QUEUED


def test_each_run_is_decided_by_the_rules_of_its_team() -> None:
    places = [Waiting(UUID(int=n), 0, NOON, team, CLAIM) for n, team in ((1, 1), (2, 2), (3, None))]
    rules = {1: Rules(7, [window(1, 4)]), 2: Rules(8)}
    decisions = decide(places, AdmissionFacts(minute(1), rules, {RUN: candidate()}))
    assert [decision.verdict.state for decision in decisions[:1]] == [RunState.WAITING]
    assert [decision.verdict for decision in decisions[1:]] == [ADMITTED] * 2
    assert [decision.asked for decision in decisions] == [7, None, None]
