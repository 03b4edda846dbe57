"""Schedules of kind `cron`: due at the wall times that an expression matches."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar, Final

import msgspec

from matins.domain.schedules.cron.clock_changes import ClockChanges, cron_rule
from matins.domain.schedules.cron.expression import Dialect, is_hashed, parse_cron
from matins.domain.schedules.cron.pattern import Pattern
from matins.domain.schedules.report import ProblemReport
from matins.domain.schedules.rules import Rule
from matins.domain.schedules.schedule import Times
from matins.domain.time.zones import Zone
from matins.domain.values.errors import ScheduleError

_SHARED_MAX: Final = 16_384


class Cron(msgspec.Struct, frozen=True, eq=False):
    """An expression in a zone. Jobs with the same one share the rule, unless `H` makes it differ.

    `own_pattern` and `own_rule` are those without a seed.
    """

    ENDS: ClassVar[bool] = False

    expression: str
    dialect: Dialect
    zone: Zone
    dst: ClockChanges | None
    is_hashed: bool
    own_pattern: Pattern
    own_rule: Rule

    @classmethod
    def parse(cls, times: Times, zone: Zone, report: ProblemReport) -> Cron | None:
        """Parse it; None if it can't be, which is reported."""
        assert times.cron is not None
        return report.attempt("cron", read_cron, times.cron, times.dialect, zone, times.dst)

    def pattern(self, seed: str) -> Pattern:
        """Return the wall times of the job with a seed.

        Raises ScheduleError if its `H` chooses a date that never comes.
        """
        if not self.is_hashed:
            return self.own_pattern
        try:
            return parse_cron(self.expression, self.dialect, seed)
        except ScheduleError as error:
            raise ScheduleError(f"cron: {error}") from error

    def rule(self, seed: str, anchor: int) -> Rule:
        """Return the due times of the job with a seed. Raises ScheduleError as `pattern` does."""
        del anchor
        if not self.is_hashed:
            return self.own_rule
        return cron_rule(self.pattern(seed), self.zone, self.dst)


@lru_cache(maxsize=_SHARED_MAX)
def read_cron(expression: str, dialect: Dialect, zone: Zone, dst: ClockChanges | None) -> Cron:
    """Read an expression, each once for all schedules that have it. Raises ScheduleError."""
    pattern = parse_cron(expression, dialect, "")
    rule = cron_rule(pattern, zone, dst)
    return Cron(expression, dialect, zone, dst, is_hashed(expression, dialect), pattern, rule)
