"""Paints parts into the seconds or minutes of a window, and reads off them what there is to say."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from operator import add
from typing import Final

import msgspec

from matins.insight.forecast.parts import Part, Starts

MINUTE_S: Final = 60

Plane = dict[int, float]
"""Weights by offset from the same starts."""


class Curve(msgspec.Struct, frozen=True):
    """Fires minute by minute from `since` on, and those of the first of the busiest seconds.

    Instants are whole seconds from 1970 UTC. Fires are expected values: whole numbers where neither
    jitter nor the ends of runs move them.
    """

    since: int
    minutes: list[float]
    peak_second: int
    peak_second_fires: float


class Canvas:
    """A window of whole minutes; what has the same starts is added up before it is painted."""

    def __init__(self, since: int, until: int) -> None:
        assert since < until, "a window has at least a minute"
        assert since % MINUTE_S == until % MINUTE_S == 0, "a window has whole minutes"
        self._since = since
        self._until = until
        self._exact: dict[Starts, Plane] = {}
        self._rates: dict[Starts, Plane] = {}

    def add(self, part: Part, count: int) -> None:
        """Add a part, so many times."""
        planes = self._rates if part.is_rate else self._exact
        plane = planes.get(part.starts)
        if plane is None:
            plane = planes[part.starts] = {}
        known = plane.get
        for offset, weight in part.marks:
            plane[offset] = known(offset, 0) + weight * count

    def curve(self) -> Curve:
        """Paint all that was added, second by second."""
        seconds = self._paint(1)
        most = max(seconds)
        starts = range(0, len(seconds), MINUTE_S)
        minutes = [sum(seconds[start : start + MINUTE_S]) for start in starts]
        return Curve(self._since, _clean(minutes), self._since + seconds.index(most), most)

    def minutes(self) -> list[float]:
        """Paint all that was added, minute by minute: much less work."""
        return _clean(self._paint(MINUTE_S))

    def _paint(self, cell_s: int) -> list[float]:
        """Give the fires of each cell of so many seconds."""
        size = (self._until - self._since) // cell_s
        cells: list[float] = [0] * size
        for starts, plane in _folded(self._exact).items():
            begins, marks = self._scaled(starts, plane, cell_s, is_rate=False)
            _add(cells, begins, marks)
        if self._rates:
            rises = [0.0] * size
            for starts, plane in _folded(self._rates).items():
                begins, marks = self._scaled(starts, plane, cell_s, is_rate=True)
                _add_rises(rises, begins, marks)
            cells = list(map(add, cells, accumulate(rises)))
        return cells

    def _scaled(
        self, starts: Starts, plane: Plane, cell_s: int, *, is_rate: bool
    ) -> tuple[list[int], Plane]:
        """Give starts and marks in cells from the first of the window on."""
        begins = [start - self._since for start in starts.instants]
        if cell_s == 1:
            return begins, plane
        if any(begin % cell_s for begin in begins):
            single: Plane = {}
            for begin in begins:
                for offset, weight in plane.items():
                    single[begin + offset] = single.get(begin + offset, 0) + weight
            begins, plane = [0], single
        return [begin // cell_s for begin in begins], _coarse(plane, cell_s, is_rate=is_rate)


def _folded(planes: Mapping[Starts, Plane]) -> dict[Starts, Plane]:
    """Add up what can be said by the same longer step."""
    found: dict[Starts, Plane] = {}
    for starts, plane in planes.items():
        longer = starts.longer
        target = found.setdefault(longer.starts if longer else starts, {})
        for moved in longer.offsets if longer else (0,):
            for offset, weight in plane.items():
                target[moved + offset] = target.get(moved + offset, 0) + weight
    return found


def _coarse(plane: Plane, cell_s: int, *, is_rate: bool) -> Plane:
    """Give marks in cells. A rise within a cell counts for its rest, and fully from the next on."""
    found: Plane = {}
    for offset, weight in plane.items():
        cell, over = divmod(offset, cell_s)
        if is_rate:
            found[cell] = found.get(cell, 0) + weight * (cell_s - over)
            cell, weight = cell + 1, weight * over  # noqa: PLW2901
        found[cell] = found.get(cell, 0) + weight
    return found


def _add(cells: list[float], begins: list[int], marks: Plane) -> None:
    pairs, size = list(marks.items()), len(cells)
    lowest, highest = min(marks, default=0), max(marks, default=0)
    for begin in begins:
        if begin + lowest >= 0 and begin + highest < size:
            for offset, weight in pairs:
                cells[begin + offset] += weight
        else:
            for offset, weight in pairs:
                if 0 <= begin + offset < size:
                    cells[begin + offset] += weight


def _add_rises(rises: list[float], begins: list[int], marks: Plane) -> None:
    """What rises before the first cell has risen there."""
    _add(rises, begins, marks)
    rises[0] += sum(
        weight
        for begin in begins
        if begin < 0
        for offset, weight in marks.items()
        if begin + offset < 0
    )


def _clean(minutes: list[float]) -> list[float]:
    """Take away what rounding leaves of rates that have fallen."""
    return [abs(round(fires, 9)) for fires in minutes]
