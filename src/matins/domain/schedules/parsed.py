"""A schedule that was parsed: its kind and its limits, and the due times that follow for a job."""

from __future__ import annotations

from typing import Final

import msgspec

from matins.domain.schedules.after_end import AfterEnd
from matins.domain.schedules.after_jobs import Chained
from matins.domain.schedules.any_of import AnyOf
from matins.domain.schedules.members import Member
from matins.domain.schedules.rules import LimitedRule, Rule, nth_after
from matins.domain.time.civil import FIRST_S, LAST_S
from matins.domain.time.zones import Zone

Kind = Member | AnyOf | AfterEnd | Chained


class Jitter(msgspec.Struct, frozen=True):
    """How far fire times lie behind due times: up to `longest_s`, never later than `last`."""

    longest_s: int = 0
    by_job: bool = False
    last: int = LAST_S


NO_JITTER: Final = Jitter()


class ParsedSchedule(msgspec.Struct, frozen=True, eq=False):
    """What a schedule without problems means; instants are in whole seconds from 1970 UTC."""

    kind: Kind
    zone: Zone
    jitter: Jitter
    starts: int | None = None
    ends: int | None = None
    max_runs: int | None = None
    delete_after_s: int | None = None

    @property
    def members(self) -> tuple[Member, ...]:
        """The members of a union, or else the kind itself; none if it follows runs."""
        match self.kind:
            case AnyOf(members):
                return members
            case AfterEnd() | Chained():
                return ()
            case member:
                return (member,)

    @property
    def first(self) -> int:
        """The first instant at which it may be due."""
        return FIRST_S if self.starts is None else self.starts

    @property
    def last(self) -> int:
        """The last instant at which it may be due."""
        return LAST_S if self.ends is None else self.ends

    def start(self, anchor: int) -> int:
        """Return the instant from which a job with an anchor counts, if its kind names none."""
        return anchor if self.starts is None else self.starts

    def rule(self, seed: str, anchor: int, since: int) -> Rule:
        """Return the due times of a job: `H` chooses by its seed, `max_runs` counts from `since`.

        Raises ScheduleError if this seed, or this anchor, has none.
        """
        rule = self.kind.rule(seed, self.start(anchor))
        if self.starts is self.ends is self.max_runs is None or isinstance(self.kind, AfterEnd):
            return rule
        first, last = self.first, self.last
        if self.max_runs is not None:
            first = max(first, since + 1)
            last = nth_after(LimitedRule(rule, first, last), since, self.max_runs) or FIRST_S
        return LimitedRule(rule, first, last)
