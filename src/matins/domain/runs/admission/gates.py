"""Gates: who passes when there is room for some. Pure.

A run that waits for a gate stands in the gate's line. A run that is asked about passes where all
its gates have room for it and for all that stand before it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple
from uuid import UUID

import msgspec

from matins.domain.jobs.limits import Rate

IN_LINE: Final = datetime(9999, 12, 31, tzinfo=UTC)
"""When a run in a line comes due by itself: never."""

_NO_LIMIT: Final = 1_000_000_000

GateKind = Literal["key", "job", "team"]


class RankedRun(NamedTuple):
    """A place in a line: the rank of the fire time. Runs pass in the order of their places."""

    rank: int
    run_id: UUID


class LinePlace(NamedTuple):
    """A place in the line of a gate."""

    gate_id: int
    rank: int


class Permit(NamedTuple):
    """A permit to be granted: the gate at a revision, and when its next start is due after it."""

    gate_id: int
    revision: int
    next_start_at: datetime | None


class Gate(msgspec.Struct, frozen=True):
    """A limit of runs at once, a rate of starts, or both.

    `taken` are the permits, which are counted where there is a limit. `revision` rises with each
    permit that is granted and each change of the limits, so that while it stays there is at least
    as much room.
    """

    id: int
    kind: GateKind
    name: str
    limit: int | None = None
    rate: Rate | None = None
    next_start_at: datetime | None = None
    taken: int = 0
    revision: int = 0

    def room(self, now: datetime) -> int:
        """Return how many more runs may start now; never less than none."""
        left = _NO_LIMIT if self.limit is None else self.limit - self.taken
        return max(min(left, starts_until(self.rate, self.next_start_at, now)), 0)

    def admitted(self, now: datetime) -> Gate:
        """Return the gate as it is after one more start."""
        next_start_at = self.next_start_at
        if self.rate is not None:
            next_start_at = after_start(self.rate, next_start_at, now)
        return msgspec.structs.replace(self, taken=self.taken + 1, next_start_at=next_start_at)

    @property
    def permit(self) -> Permit:
        """What the last run gets that was admitted."""
        return Permit(self.id, self.revision, self.next_start_at)

    def opens_at(self, now: datetime) -> datetime | None:
        """Return when its rate allows the next start; None if it does now."""
        if self.rate is None:
            return None
        first = _first(self.rate, self.next_start_at, now)
        return first if first > now else None

    def reason(self, now: datetime) -> str:
        """Return why a run in its line can't start, for people."""
        label = {"key": self.name, "job": "its job", "team": "its team"}[self.kind]
        if self.room(now):
            return f"behind other runs in the line for {label}"
        if self.opens_at(now):
            return f"rate of {self.rate} for {label} is reached"
        return f"limit of {self.limit} for {label} is taken"


def starts_until(rate: Rate | None, next_start_at: datetime | None, now: datetime) -> int:
    """Return how many starts a rate allows up to now."""
    if rate is None:
        return _NO_LIMIT
    return max((now - _first(rate, next_start_at, now)) // rate.spacing + 1, 0)


def after_start(rate: Rate, next_start_at: datetime | None, now: datetime) -> datetime:
    """Return when the next start is due after one now (GCRA)."""
    return _first(rate, next_start_at, now) + rate.spacing


def _first(rate: Rate, next_start_at: datetime | None, now: datetime) -> datetime:
    """Return from when on starts are counted: what was noted under a slower rate counts no longer
    than the rate of today would have it wait.
    """
    if next_start_at is None:
        return now
    return min(max(next_start_at, now - rate.tolerance), now + rate.spacing)


class Passed(NamedTuple):
    """What became of a run at its gates: it gets permits, or waits for one of them."""

    place: RankedRun
    permits: tuple[Permit, ...] = ()
    blocked_by: Gate | None = None
    reason: str = ""


def pass_gates(
    asked: Mapping[RankedRun, Collection[int]],
    gates: Mapping[int, Gate],
    lines: Mapping[int, Sequence[RankedRun]],
    now: datetime,
) -> list[Passed]:
    """Let those of the runs pass for which all their gates have room, in their order.

    `asked` has the ids of each run's gates. `lines` are the places in the lines that others hold,
    in their order.
    """
    left, passed = dict(gates), []
    for place in sorted(asked):
        numbers = sorted(number for number in asked[place] if number in left)
        for gate in map(left.__getitem__, numbers):
            if gate.room(now) <= bisect_left(lines.get(gate.id, ()), place):
                passed.append(Passed(place, blocked_by=gate, reason=gate.reason(now)))
                break
        else:
            left.update((number, left[number].admitted(now)) for number in numbers)
            passed.append(Passed(place, tuple(left[number].permit for number in numbers)))
    return passed
