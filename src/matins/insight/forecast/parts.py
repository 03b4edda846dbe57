"""Parts: fires that repeat, as starts and what comes how long after each of them.

All cron expressions whose hours pass alike share their starts, and so do all steps that divide an
hour or a day: what has to be painted in the end is little more than hours times seconds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from matins.insight.forecast.walks import Fire


class Longer(NamedTuple):
    """A longer step, which a shorter one divides: its starts, and the shorter step's offsets."""

    starts: Starts
    offsets: range


class Starts:
    """Instants from which marks are counted. Compared by identity, for it is a key.

    With `longer`, the same is said by the starts of a longer step.
    """

    __slots__ = ("instants", "longer")

    def __init__(self, instants: Sequence[int], longer: Longer | None = None) -> None:
        self.instants = instants
        self.longer = longer


ORIGIN: Final = Starts((0,))
"""The start from which marks are instants themselves."""

MINUTE_S: Final = 60

Mark = tuple[int, float]
"""An offset in seconds from a start, and a weight."""


class Part(msgspec.Struct, frozen=True):
    """Marks that repeat at each start. A weight is how many fires fall into the second itself; when
    `is_rate`, it is by how many the fires of each second rise from there on.
    """

    starts: Starts
    marks: Collection[Mark]
    is_rate: bool = False

    @property
    def about(self) -> int:
        """About how many fires a part has that is of one job: a rate has a fall for each rise."""
        return len(self.starts.instants) * len(self.marks) // (2 if self.is_rate else 1)


def alike(starts: Starts, marks: Collection[Mark], length: int) -> list[Part]:
    """Give the part of marks that are all spread over so many seconds, evenly."""
    if length == 1:
        return [Part(starts, marks)]
    rises = [(offset, weight / length) for offset, weight in marks]
    falls = [(offset + length, -weight) for offset, weight in rises]
    return [Part(starts, rises + falls, is_rate=True)]


def single(starts: Starts, fires: Iterable[Fire]) -> list[Part]:
    """Give the parts of fires that are each spread over a length of their own."""
    exact, rates = list[Mark](), list[Mark]()
    for due, length in fires:
        if length == 1:
            exact.append((due, 1))
        else:
            rates += (due, 1 / length), (due + length, -1 / length)
    found = [Part(starts, exact)] if exact else []
    return [*found, Part(starts, rates, is_rate=True)] if rates else found


def blurred(dues: Sequence[int], more: int, until: int) -> list[Part]:
    """Give many due times as a rate, even within each minute; from `more` on as often as before.

    It takes little room, however many there are.
    """
    end = more - more % MINUTE_S
    rises: dict[int, float] = defaultdict(float)
    known = [due for due in dues if due < end]
    for due in known:
        begin = due - due % MINUTE_S
        rises[begin] += 1 / MINUTE_S
        rises[begin + MINUTE_S] -= 1 / MINUTE_S
    if known and end < until:
        rate = len(known) / (end - known[0])
        rises[end] += rate
        rises[until] -= rate
    return [Part(ORIGIN, [(at, rise) for at, rise in rises.items() if rise], is_rate=True)]
