"""Levels become edges: what is told of how a job stands, once for each turn.

`step` is the only place that decides it. It is a function of what was stored and of one look, so
that whoever repeats a look, or comes with an older one, changes nothing.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple
from uuid import UUID

import msgspec

from matins.domain.values.ids import hashed_id

FLAPS: Final = 3
"""What turns bad so often within `FLAPS_WITHIN` is flapping."""

FLAPS_WITHIN: Final = timedelta(hours=1)
STEADY: Final = timedelta(minutes=30)
"""What has stayed as it is for so long is flapping no more."""


class Level(NamedTuple):
    """How a job stands by a rule: since when, and why, in words.

    `mark`: when the newest of what makes it bad happened, for rules that must miss none of it.
    """

    is_bad: bool
    since: datetime
    reason: str
    run_id: UUID | None = None
    mark: datetime | None = None


class Turn(StrEnum):
    """What is told."""

    BAD = "bad"
    WELL = "well"
    STILL = "still"
    FLAPPING = "flapping"


class RuleStanding(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a job stood by a rule at the last look and why, and what was told of it.

    `is_notified`: that it is bad is what was told last. `edges`: how many were told.
    `turned_bad`: when, lately.
    """

    looked_at: datetime
    is_bad: bool
    since: datetime
    reason: str = ""
    run_id: UUID | None = None
    is_notified: bool = False
    notified_at: datetime | None = None
    edges: int = 0
    turned_bad: list[datetime] = []
    is_flapping: bool = False
    mark: datetime | None = None

    @property
    def is_blank(self) -> bool:
        """Whether nothing would be lost by forgetting it."""
        return not (self.is_bad or self.edges or self.turned_bad or self.mark)

    @property
    def at_rest(self) -> RuleStanding:
        """What is left of it when its rule is gone: no number of an edge is used again."""
        return RuleStanding(self.looked_at, is_bad=False, since=self.since, edges=self.edges)


class Edge(NamedTuple):
    """Something to be told. `number` counts the edges of this job and rule."""

    turn: Turn
    number: int
    level: Level


def step(
    before: RuleStanding | None, level: Level | None, now: datetime, remind_s: float | None = None
) -> tuple[RuleStanding, Edge | None]:
    """Return how a job stands after a look at `now`, and what is to be told.

    A level of None is unknown: all stays as it was, and nobody is reminded of it.
    """
    if before is None:
        before = RuleStanding(datetime.min.replace(tzinfo=now.tzinfo), is_bad=False, since=now)
    if now <= before.looked_at:
        return before, None
    if level is None:
        remind_s = None
    level = level or Level(before.is_bad, before.since, before.reason, before.run_id)
    changed = level.is_bad != before.is_bad
    turned_bad = [at for at in before.turned_bad if now - at < FLAPS_WITHIN]
    if changed and level.is_bad:
        turned_bad.append(now)
    seen = msgspec.structs.replace(
        before,
        looked_at=now,
        is_bad=level.is_bad,
        since=now if changed else before.since,
        reason=level.reason,
        run_id=level.run_id,
        turned_bad=turned_bad,
        is_flapping=before.is_flapping and (changed or now - before.since < STEADY),
        mark=level.mark or before.mark,
    )
    turn = _turn(before, seen, remind_s)
    if turn is None:
        return seen, None
    after = msgspec.structs.replace(
        seen,
        is_notified=level.is_bad,
        notified_at=now,
        edges=seen.edges + 1,
        is_flapping=turn is Turn.FLAPPING,
    )
    return after, Edge(turn, after.edges, level)


def edge_id(job_id: UUID, rule: str, number: int) -> UUID:
    """Name an edge, so that whoever finds it again gives it the same name."""
    return hashed_id(b"matins.edge", b"%b%d%b" % (job_id.bytes, number, rule.encode()))


def _turn(before: RuleStanding, seen: RuleStanding, remind_s: float | None) -> Turn | None:
    if seen.is_flapping:
        return None
    if seen.is_bad and not seen.is_notified:
        is_flap = len(seen.turned_bad) >= FLAPS and not before.is_flapping
        return Turn.FLAPPING if is_flap else Turn.BAD
    if not seen.is_bad and seen.is_notified:
        return Turn.WELL
    if seen.is_bad and remind_s is not None and seen.notified_at is not None:
        is_due = (seen.looked_at - seen.notified_at).total_seconds() >= remind_s
        return Turn.STILL if is_due else None
    return None
