"""What becomes of due times whose moment passed while nobody could claim them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import ClassVar, Literal

import msgspec

from matins.domain.values.durations import parse_duration
from matins.domain.values.errors import Problem, ScheduleError

ON_TIME = timedelta(seconds=60)
"""A due time claimed within this is on time: a late wake-up is no misfire."""

COUNT_MAX = 1000
"""The most missed due times of one job that can be caught up at once."""

MISFIRE = "misfire: "
"""So the reason begins of what the policy skips."""

Missed = Literal["skip", "last", "all"]
"""What becomes of the due times that passed while a job was paused."""

RUN_MAX: dict[Missed, int] = {"skip": 0, "last": 1, "all": COUNT_MAX}
"""How many of them run when the job goes on: the newest ones."""


class Misfire(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """`last` runs only the newest of what was missed, `all` what is within both bounds, `skip`
    none.
    """

    EXAMPLE: ClassVar[str] = "{policy: last}"

    policy: Literal["all", "last", "skip"] = "last"
    max_age: str | None = None
    """What is older is skipped, however new it is among what was missed; None: no bound."""
    max_count: int = 100

    def problems(self) -> list[Problem]:
        """Return what is wrong with it; `where` is relative to the policy."""
        problems = []
        try:
            parse_duration("0s" if self.max_age is None else self.max_age)
        except ScheduleError as error:
            problems.append(Problem("max_age", str(error)))
        if not 1 <= self.max_count <= COUNT_MAX:
            problems.append(Problem("max_count", f"must be from 1 to {COUNT_MAX}"))
        return problems


class CatchUp(msgspec.Struct, frozen=True):
    """What to do with due times in a row: run it, or skip it with its reason."""

    due: list[datetime]
    skip_reason: str | None = None


def misfired(policy: Misfire) -> str:
    """Return the reason of a due time that the policy skips."""
    return f"{MISFIRE}{policy.policy}"


def split_pending(due: Sequence[datetime], policy: Misfire, now: datetime) -> list[CatchUp]:
    """Split the pending due times of one job, in order, into groups to run and to skip.

    `due` reaches up to the newest pending due time, or is long enough to hold `COUNT_MAX` more
    than will be used. What is on time always runs; the policy decides on what is late. Every
    due time comes back exactly once.
    """
    late = [at for at in due if now - at > ON_TIME]
    on_time = list(due[len(late) :])
    if not late:
        return [CatchUp(on_time)] if on_time else []
    keep = _kept(late, bool(on_time), policy, now)
    cut = len(late) - keep
    verdicts = []
    if cut:
        verdicts.append(CatchUp(late[:cut], misfired(policy)))
    if late[cut:] + on_time:
        verdicts.append(CatchUp(late[cut:] + on_time))
    return verdicts


def _kept(late: Sequence[datetime], newer: bool, policy: Misfire, now: datetime) -> int:
    """Return how many of the newest late due times are still to run."""
    young = len(late)
    if policy.max_age is not None:
        oldest = now - timedelta(seconds=parse_duration(policy.max_age))
        young = sum(1 for at in late if at >= oldest)
    match policy.policy:
        case "skip":
            return 0
        case "last":
            return 0 if newer else min(young, 1)
        case "all":
            return min(young, policy.max_count)
