"""What a cron job does when its zone's clocks change, if its owner wants other than the default."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from matins.domain.schedules.cron.pattern import Pattern
from matins.domain.schedules.cron.policy_rule import PolicyRule
from matins.domain.schedules.cron.rules import FixedRule, WildcardRule
from matins.domain.schedules.rules import Rule
from matins.domain.time.zones import Zone

Gap = Literal["run_after", "skip"]
Overlap = Literal["first", "second", "both"]


class ClockChanges(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A job's own policy; None is what jobs of its kind do.

    `gap`: a wall time that is skipped is due right after the gap, or not at all. `overlap`: one
    that occurs twice is due in the first pass, in the second, or in both. Fixed-time jobs do
    run_after and first, jobs with a wildcard in hour or minute do skip and both.
    """

    EXAMPLE: ClassVar[str] = "{gap: skip}"

    gap: Gap | None = None
    overlap: Overlap | None = None


def policy_of(pattern: Pattern, dst: ClockChanges | None) -> tuple[Gap, Overlap]:
    """Return what a job does at gaps and overlaps: its own choice, or what its kind does."""
    gap, overlap = (None, None) if dst is None else (dst.gap, dst.overlap)
    if pattern.is_fixed:
        return gap or "run_after", overlap or "first"
    return gap or "skip", overlap or "both"


def cron_rule(pattern: Pattern, zone: Zone, dst: ClockChanges | None) -> Rule:
    """Return the due times of a pattern in a zone, by the job's own policy where it has one."""
    if dst is None:
        return FixedRule(pattern, zone) if pattern.is_fixed else WildcardRule(pattern, zone)
    policy = policy_of(pattern, dst)
    if policy == ("run_after", "first"):
        return FixedRule(pattern, zone)
    if policy == ("skip", "both"):
        return WildcardRule(pattern, zone)
    return PolicyRule(pattern, zone, runs_after=policy[0] == "run_after", overlap=policy[1])
