"""Gates: who passes when there is room for some. Pure; PostgreSQL does the same under the gates'
locks, in the function `pass_gates` of migration 27.

A run that waits for a gate stands in the gate's line. Whoever is asked about passes where all its
gates have room for it and for all that stand before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple
from uuid import UUID

from matins.domain.jobs.limits import Rate

IN_LINE: Final = datetime(9999, 12, 31, tzinfo=UTC)
"""When a run in a line comes due by itself: never."""

_NO_LIMIT: Final = 1_000_000_000

GateKind = Literal["key", "job", "team"]


class Place(NamedTuple):
    """A place in a line: the rank of the fire time. Who waits passes in the order of the places."""

    rank: int
    run_id: UUID


@dataclass(slots=True)
class Gate:
    """A limit of runs at once, a rate of starts, or both, with what is taken of them."""

    id: int
    kind: GateKind
    name: str
    limit: int | None = None
    rate: Rate | None = None
    rate_text: str = ""
    next_start_at: datetime | None = None
    permits: set[UUID] = field(default_factory=set)

    def room(self, now: datetime) -> int:
        """Return how many runs more may start now; never less than none."""
        left = _NO_LIMIT if self.limit is None else self.limit - len(self.permits)
        return max(min(left, starts_until(self.rate, self.next_start_at, now)), 0)

    def admit(self, run_id: UUID, now: datetime) -> None:
        """Give a run its permit, and note its start."""
        self.permits.add(run_id)
        if self.rate is not None:
            self.next_start_at = after_start(self.rate, self.next_start_at, now)

    def reason(self, now: datetime) -> str:
        """Return why a run in its line can't start, for people."""
        if self.room(now):
            return f"behind other runs in the line for {self.label}"
        if not starts_until(self.rate, self.next_start_at, now):
            return f"rate of {self.rate_text} for {self.label} is reached"
        return f"limit of {self.limit} for {self.label} is taken"

    @property
    def label(self) -> str:
        """What people call it."""
        return {"key": self.name, "job": "its job", "team": "its team"}[self.kind]


def starts_until(rate: Rate | None, next_start_at: datetime | None, now: datetime) -> int:
    """Return how many starts a rate allows up to now."""
    if rate is None:
        return _NO_LIMIT
    return max((now - _first(rate, next_start_at, now)) // rate.spacing + 1, 0)


def after_start(rate: Rate, next_start_at: datetime | None, now: datetime) -> datetime:
    """Return when the next start is due after one now (GCRA)."""
    return _first(rate, next_start_at, now) + rate.spacing


def _first(rate: Rate, next_start_at: datetime | None, now: datetime) -> datetime:
    return now if next_start_at is None else max(next_start_at, now - rate.tolerance)


class Passed(NamedTuple):
    """What became of a run at its gates: it passed, or it waits for one of them."""

    place: Place
    blocked_by: Gate | None = None
    reason: str = ""


def pass_gates(
    asked: Mapping[Place, Sequence[Gate]],
    lines: Callable[[Gate], Collection[Place]],
    now: datetime,
) -> list[Passed]:
    """Let those of the runs pass for which all their gates have room, in their order.

    `lines` are the places in a gate's line that somebody may be asked about; none of `asked`.
    """
    return [_pass(place, gates, lines, now) for place, gates in sorted(asked.items())]


def _pass(
    place: Place,
    gates: Iterable[Gate],
    lines: Callable[[Gate], Collection[Place]],
    now: datetime,
) -> Passed:
    ordered = sorted(gates, key=lambda gate: gate.id)
    for gate in ordered:
        room = gate.room(now)
        ahead = sum(other < place for other in lines(gate)) if room else 0
        if room <= ahead:
            return Passed(place, gate, gate.reason(now))
    for gate in ordered:
        gate.admit(place.run_id, now)
    return Passed(place)
