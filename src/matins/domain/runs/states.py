"""The life of a run as data, and `decide`, the one place that chooses what follows an attempt."""

from __future__ import annotations

from enum import StrEnum
from random import Random

import msgspec

from matins.domain.jobs.retry import ONCE, RetryPolicy
from matins.domain.values.durations import parse_duration


class Kind(StrEnum):
    """Why a run exists."""

    SCHEDULED = "scheduled"
    MANUAL = "manual"
    BACKFILL = "backfill"
    CHAINED = "chained"


class RunState(StrEnum):
    """Where a run stands."""

    WAITING = "waiting"
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


FIRST = frozenset({RunState.WAITING, RunState.QUEUED, RunState.SKIPPED})
"""The states in which a claim may make a run."""

TRANSITIONS: dict[RunState, frozenset[RunState]] = {
    RunState.WAITING: frozenset({RunState.QUEUED, RunState.SKIPPED, RunState.CANCELLED}),
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
    RunState.RETRYING: frozenset(
        {
            RunState.QUEUED,
            RunState.WAITING,
            RunState.CANCELLED,
            RunState.DEAD,  # its owner wants no more attempts
        }
    ),
    RunState.SUCCEEDED: frozenset(),
    RunState.DEAD: frozenset({RunState.RETRYING}),  # replayed by its owner
    RunState.CANCELLED: frozenset(),
    # of a chain: what it was skipped for has succeeded, when it was replayed; or an operator says
    # that what may have run before a restore is to run
    RunState.SKIPPED: frozenset({RunState.WAITING}),
}
"""Every legal change of a run's state."""

FINAL = frozenset({RunState.SUCCEEDED, RunState.DEAD, RunState.CANCELLED, RunState.SKIPPED})
"""The states in which a run is over. By itself it stays so: a dead one goes on when it is replayed,
and then what a chain has skipped because of it.
"""

LASTING = frozenset(state for state, after in TRANSITIONS.items() if not after)
"""The states that never change."""


SUSPECT_AFTER = 2
"""After so many losses in company a run is a suspect, and is tried alone."""


class Tried(msgspec.Struct, frozen=True):
    """What `decide` needs to know of a running run: attempts so far, this one included."""

    attempt: int
    lost_count: int = 0
    """Earlier attempts that were lost."""
    cancel_requested: bool = False
    """Its owner wants no more of it: the run was cancelled, or its job deleted."""
    shared_losses: int = 0
    """Those of the lost attempts that ended in company: with others, when what ran them died."""
    age_s: float = 0.0
    """Seconds since it was claimed."""
    company: int | None = None
    """How many others ended with this attempt when what ran it died; of a suspect, how many other
    suspects. None: nothing died."""

    @property
    def is_suspect(self) -> bool:
        """Whether it was there so often when something died that it is tried alone."""
        return self.shared_losses >= SUSPECT_AFTER


class Transition(msgspec.Struct, frozen=True):
    """What follows an attempt. `retry_in_s` is set for `retrying` only.

    `shared`: the attempt was lost in company, which is held against no policy.
    """

    state: RunState
    reason: str = ""
    retry_in_s: float | None = None
    shared: bool = False


def decide(
    tried: Tried,
    outcome: Outcome,
    policy: RetryPolicy,
    rng: Random,
    *,
    reason: str = "",
    permanent: bool = False,
    asked_s: float = 0.0,
) -> Transition:
    """Choose what follows the end of a run's current attempt.

    A lost attempt is counted apart from failures: see `_after_loss`. `permanent` failures are not
    worth another attempt. `asked_s`: the target asks for no attempt earlier than that.
    """
    if outcome is Outcome.SUCCEEDED:
        return Transition(RunState.SUCCEEDED)
    if outcome is Outcome.CANCELLED or tried.cancel_requested:
        return Transition(RunState.CANCELLED, reason or "cancelled")
    if outcome is Outcome.LOST:
        return _in_time(_after_loss(tried, policy, rng, reason), tried, policy)
    failures = tried.attempt - tried.lost_count
    if permanent:
        return Transition(RunState.DEAD, reason or "failed for good")
    if failures >= (policy.attempts or ONCE):
        times = f"failed {failures} times; at last: " if failures > 1 else ""
        return Transition(RunState.DEAD, f"{times}{reason or 'failed'}")
    wait_s = policy.backoff.delay_s(failures, rng, asked_s)
    return _in_time(Transition(RunState.RETRYING, reason, wait_s), tried, policy)


def _in_time(after: Transition, tried: Tried, policy: RetryPolicy) -> Transition:
    """Give up a run whose next attempt would come too long after its claim."""
    if after.retry_in_s is None or policy.give_up_after is None:
        return after
    if tried.age_s + after.retry_in_s <= parse_duration(policy.give_up_after):
        return after
    message = f"given up, for its next attempt would come later than {policy.give_up_after}"
    reason = f"{message} after its claim; at last: {after.reason}"
    return msgspec.structs.replace(after, state=RunState.DEAD, reason=reason, retry_in_s=None)


def _after_loss(tried: Tried, policy: RetryPolicy, rng: Random, reason: str) -> Transition:
    """Choose what follows a lost attempt; it is tried again with the shortest backoff.

    When what ran several attempts dies, any of them may have done it: that counts for none, but
    makes them suspect. A loss counts, against `policy.lost`, for what was alone; of a suspect that
    was tried alone it is the last.
    """
    retry_in_s = policy.backoff.delay_s(1, rng)
    if tried.company:
        shared = tried.shared_losses + 1
        message = f"{reason}, and {tried.company} more with it"
        if shared >= SUSPECT_AFTER:
            message += f"; it was there {shared} times, so it is tried alone"
        return Transition(RunState.RETRYING, message, retry_in_s, shared=True)
    if tried.is_suspect and tried.company is not None:
        message = f"{reason} when it was tried alone, after {tried.shared_losses} times in company"
        return Transition(RunState.DEAD, message)
    lost = tried.lost_count - tried.shared_losses + 1
    if lost >= policy.lost:
        return Transition(RunState.DEAD, f"lost {lost} times: {reason}")
    return Transition(RunState.RETRYING, reason, retry_in_s)
