"""When an attempt that failed is tried again."""

from __future__ import annotations

from functools import lru_cache
from random import Random
from typing import ClassVar, Final, Literal

import msgspec

from matins.domain.jobs.failures import OUTCOMES, AttemptFailure, names, word_fault
from matins.domain.values.durations import parse_duration
from matins.domain.values.errors import Problem, ScheduleError, below

ATTEMPTS: Final = {"http": 3}
"""By kind of target how many attempts a run gets whose job does not say it. An HTTP target is told
the run's id, by which it can recognise what it has done already.
"""

ONCE: Final = 1
"""The same for all other kinds: nobody knows whether they may be run twice."""

WORDS_MAX: Final = 50
"""The most words of `retry_on`, and of `permanent_on`."""


class Backoff(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Exponential waits between attempts: `initial * factor ** n`, never above `max`.

    `full` jitter draws between zero and that wait (AWS Architecture Blog, "Exponential Backoff
    And Jitter", 2015), so that what failed together does not come back together.
    """

    EXAMPLE: ClassVar[str] = "{initial: 10s, max: 15m}"

    initial: str = "10s"
    factor: float = 2.0
    max: str = "15m"
    jitter: Literal["full", "none"] = "full"

    def delay_s(self, failures: int, rng: Random, asked_s: float = 0.0) -> float:
        """Seconds to wait after the `failures`-th failure, counted from 1.

        `asked_s`: the target asks for no attempt earlier than that. It is no longer than `max`
        either; jitter comes on top of it, since all that failed together were told the same.
        """
        ceiling = parse_duration(self.max)
        first = parse_duration(self.initial)
        doublings = min(failures - 1, 64)
        wait = min(ceiling, first * self.factor**doublings)
        if self.jitter == "full":
            return min(ceiling, asked_s + rng.uniform(0, wait))
        return min(ceiling, max(asked_s, wait))

    def problems(self) -> list[Problem]:
        """Return what is wrong with it; `where` is relative to it."""
        problems = []
        if not 1 <= self.factor <= 100:
            problems.append(Problem("factor", "must be from 1 to 100"))
        for name in ("initial", "max"):
            problems += _duration_problems(name, getattr(self, name))
        return problems


class RetryPolicy(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """How often a run may fail, and apart from that how often it may be lost.

    `attempts` is None where the kind of target decides (ATTEMPTS). `give_up_after`: no attempt
    begins to wait for a time that is longer than that after the claim. `retry_on`: nothing else is
    tried again. `permanent_on`: that is not tried again, whatever else is said.
    """

    EXAMPLE: ClassVar[str] = "{attempts: 5}"

    attempts: int | None = None
    lost: int = 5
    backoff: Backoff = Backoff()
    give_up_after: str | None = None
    retry_on: tuple[str, ...] = ()
    permanent_on: tuple[str, ...] = ()

    def problems(self, target: str | None = None) -> list[Problem]:
        """Return what is wrong with it, for a kind of target; `where` is relative to the policy."""
        problems = []
        for name, count in (("attempts", self.attempts), ("lost", self.lost)):
            if count is not None and not 1 <= count <= 100:
                problems.append(Problem(name, f"is {count}; it must be from 1 to 100"))
        problems += below("backoff", self.backoff.problems())
        if self.give_up_after is not None:
            problems += _duration_problems("give_up_after", self.give_up_after)
        for name in ("retry_on", "permanent_on"):
            problems += _word_problems(name, getattr(self, name), target)
        return problems

    def for_target(self, kind: str | None) -> RetryPolicy:
        """Return it with what the kind of target decides filled in."""
        if self.attempts is not None:
            return self
        return msgspec.structs.replace(self, attempts=ATTEMPTS.get(kind or "", ONCE))

    def ended_by(self, failure: AttemptFailure, *, is_permanent: bool) -> str | None:
        """Return by what a failure ends the run at once, None if by nothing here.

        Unless the policy says so it is by the executor, where it takes the failure for permanent:
        that is told by an empty text.
        """
        if failure.outcome not in OUTCOMES:
            return None
        if word := next((word for word in self.permanent_on if names(word, failure)), None):
            return f"permanent_on: {word}"
        if not self.retry_on:
            return "" if is_permanent else None
        if any(names(word, failure) for word in self.retry_on):
            return None
        return f"none of retry_on: {', '.join(self.retry_on)}"


_NO_MORE: Final = RetryPolicy(attempts=1, lost=1)


@lru_cache(maxsize=1024)
def read_policy(text: str, target: str | None) -> RetryPolicy:
    """Return a stored policy, complete for its kind of target.

    One that can't be read, or not be carried out, allows nothing more, so that the run ends.
    """
    try:
        policy = msgspec.json.decode(text, type=RetryPolicy)
    except msgspec.DecodeError:
        return _NO_MORE
    return _NO_MORE if policy.problems() else policy.for_target(target)


def _duration_problems(where: str, text: str) -> list[Problem]:
    try:
        parse_duration(text)
    except ScheduleError as error:
        return [Problem(where, str(error))]
    return []


def _word_problems(where: str, words: tuple[str, ...], target: str | None) -> list[Problem]:
    if len(words) > WORDS_MAX:
        return [Problem(where, f"holds {len(words)} words; at most {WORDS_MAX} may stand there")]
    faults = ((index, word, word_fault(word, target)) for index, word in enumerate(words))
    return [
        Problem(f"{where}[{index}]", f"{word[:40]!r} {fault}")
        for index, word, fault in faults
        if fault
    ]
