"""What a recurrence rule may cost: some have to be worked out step by step, and so have bounds."""

from __future__ import annotations

from math import gcd
from typing import Final

from matins.domain.schedules.rrule.parts import UNIT_S, Parts
from matins.domain.time.civil import DAY_S
from matins.domain.values.errors import ScheduleError

COUNT_MAX: Final = 500
"""The highest COUNT of a rule whose due times have to be counted one by one."""

CYCLE_MAX: Final = 1_000
"""The most days after which the periods must fall on the same times of day again."""


def check_work(parts: Parts) -> None:
    """Raise ScheduleError for a rule that takes too long to work out."""
    name, is_elapsed = parts.frequency.name, parts.frequency in UNIT_S and parts.is_limited
    if is_elapsed:
        cycle = cycle_length(parts.interval, UNIT_S[parts.frequency])
        if cycle > CYCLE_MAX:
            raise ScheduleError(
                f"RRULE: the rule has INTERVAL={parts.interval}, which with FREQ={name} comes to"
                f" the same time of day only after {cycle} days; write one that does within"
                f" {CYCLE_MAX}, or leave out BYxxx"
            )
    if (is_elapsed or parts.positions) and parts.count is not None and parts.count > COUNT_MAX:
        reason = f"FREQ={name} and BYxxx" if is_elapsed else "BYSETPOS"
        raise ScheduleError(
            f"RRULE: the rule has COUNT={parts.count}, over {COUNT_MAX} with {reason}; write UNTIL"
            " instead"
        )


def cycle_length(interval: int, unit: int) -> int:
    """Return the days after which each n-th hour, minute or second is at the same time of day."""
    return interval // gcd(interval, DAY_S // unit)
