"""The life of a run as data, and `decide`, the one place that chooses what follows an attempt."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from random import Random

import msgspec

from matins.domain.retry import RetryPolicy


class Kind(StrEnum):
    """Why a run exists."""

    SCHEDULED = "scheduled"
    MANUAL = "manual"
    BACKFILL = "backfill"
    CHAINED = "chained"


class RunState(StrEnum):
    """Where a run stands."""

    QUEUED = "queued"
    RUNNING = "running"
    RETRYING = "retrying"
    SUCCEEDED = "succeeded"
    DEAD = "dead"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


class Outcome(StrEnum):
    """How an attempt ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    LOST = "lost"
    CANCELLED = "cancelled"


FIRST = frozenset({RunState.QUEUED, RunState.SKIPPED})
"""The states in which a claim may make a run."""

TRANSITIONS: dict[RunState, frozenset[RunState]] = {
    RunState.QUEUED: frozenset({RunState.RUNNING, RunState.CANCELLED}),
    RunState.RUNNING: frozenset(
        {
            RunState.QUEUED,  # handed out, but the executor never heard of it
            RunState.SUCCEEDED,
            RunState.RETRYING,
            RunState.DEAD,
            RunState.CANCELLED,
        }
    ),
    RunState.RETRYING: frozenset({RunState.QUEUED, RunState.CANCELLED}),
    RunState.SUCCEEDED: frozenset(),
    RunState.DEAD: frozenset(),
    RunState.CANCELLED: frozenset(),
    RunState.SKIPPED: frozenset(),
}
"""Every legal change of a run's state; a final state never changes."""

FINAL = frozenset(state for state, after in TRANSITIONS.items() if not after)


class Tried(msgspec.Struct, frozen=True):
    """What `decide` needs to know of a running run: attempts so far, this one included."""

    attempt: int
    lost_count: int = 0
    """Earlier attempts that were lost."""
    cancel_requested: bool = False


class Transition(msgspec.Struct, frozen=True):
    """What follows an attempt. `retry_at` is set for `retrying` only."""

    state: RunState
    reason: str = ""
    retry_at: datetime | None = None


def decide(
    tried: Tried,
    outcome: Outcome,
    policy: RetryPolicy,
    now: datetime,
    rng: Random,
    *,
    reason: str = "",
    permanent: bool = False,
) -> Transition:
    """Choose what follows the end of a run's current attempt.

    A lost attempt is not the job's fault: it is counted apart, against `policy.lost`, and is
    tried again with the shortest backoff. `permanent` failures are not worth another attempt.
    """
    if outcome is Outcome.SUCCEEDED:
        return Transition(RunState.SUCCEEDED)
    if outcome is Outcome.CANCELLED or tried.cancel_requested:
        return Transition(RunState.CANCELLED, reason or "cancelled")
    if outcome is Outcome.LOST:
        lost = tried.lost_count + 1
        if lost >= policy.lost:
            return Transition(RunState.DEAD, f"lost {lost} times: {reason}")
        wait = policy.backoff.delay_s(1, rng)
    else:
        failures = tried.attempt - tried.lost_count
        if permanent:
            return Transition(RunState.DEAD, reason or "failed for good")
        if failures >= policy.attempts:
            return Transition(RunState.DEAD, f"failed {failures} times; at last: {reason}")
        wait = policy.backoff.delay_s(failures, rng)
    return Transition(RunState.RETRYING, reason, now + timedelta(seconds=wait))
