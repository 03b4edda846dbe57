"""When an attempt that failed is tried again."""

from __future__ import annotations

from random import Random
from typing import ClassVar, Literal

import msgspec

from matins.domain.values.durations import parse_duration
from matins.domain.values.errors import Problem, ScheduleError


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

    def delay_s(self, failures: int, rng: Random) -> float:
        """Seconds to wait after the `failures`-th failure, counted from 1."""
        ceiling = parse_duration(self.max)
        first = parse_duration(self.initial)
        doublings = min(failures - 1, 64)
        wait = min(ceiling, first * self.factor**doublings)
        return rng.uniform(0, wait) if self.jitter == "full" else wait


class RetryPolicy(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """How often a run may fail, and apart from that how often it may be lost."""

    EXAMPLE: ClassVar[str] = "{attempts: 5}"

    attempts: int = 3
    lost: int = 5
    backoff: Backoff = Backoff()

    def problems(self) -> list[Problem]:
        """Return what is wrong with it; `where` is relative to the policy."""
        problems = []
        for name, count in (("attempts", self.attempts), ("lost", self.lost)):
            if not 1 <= count <= 100:
                problems.append(Problem(name, f"is {count}; it must be from 1 to 100"))
        if not 1 <= self.backoff.factor <= 100:
            problems.append(Problem("backoff.factor", "must be from 1 to 100"))
        for name in ("initial", "max"):
            try:
                parse_duration(getattr(self.backoff, name))
            except ScheduleError as error:
                problems.append(Problem(f"backoff.{name}", str(error)))
        return problems
