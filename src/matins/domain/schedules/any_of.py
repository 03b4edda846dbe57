"""Schedules of kind `any_of`: due when at least one of their members is."""

from __future__ import annotations

from typing import Final

import msgspec

from matins.domain.schedules.members import Member, parse_member
from matins.domain.schedules.report import ProblemReport
from matins.domain.schedules.rules import Rule, UnionRule
from matins.domain.schedules.schedule import Times
from matins.domain.time.zones import Zone, find_zone

MEMBERS_MAX: Final = 20


class AnyOf(msgspec.Struct, frozen=True, eq=False):
    """A union of other kinds, each in a zone of its own."""

    members: tuple[Member, ...]

    @classmethod
    def parse(cls, written: list[Times], zone: Zone, report: ProblemReport) -> AnyOf:
        """Parse the members that can be; the rest is reported."""
        if not 0 < len(written) <= MEMBERS_MAX:
            message = f"the union has {len(written)} members; write 1 to {MEMBERS_MAX}"
            report.add("any_of", message)
        members = [
            _parse_one(times, zone, report.below(f"any_of[{index}]"))
            for index, times in enumerate(written[:MEMBERS_MAX])
        ]
        return cls(tuple(member for member in members if member is not None))

    def rule(self, seed: str, anchor: int) -> Rule:
        """Return the due times of the job with a seed and an anchor. Raises ScheduleError."""
        return UnionRule([member.rule(seed, anchor) for member in self.members])


def _parse_one(times: Times, zone: Zone, report: ProblemReport) -> Member | None:
    """Parse a member in its own zone, or else in that of the schedule."""
    if times.timezone is not None:
        zone = report.attempt("timezone", find_zone, times.timezone) or find_zone("UTC")
    return parse_member(times, zone, report)
