"""A week's load as a heat map: a row for each day, a cell for each hour."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from math import sqrt
from typing import Final, NamedTuple

HOURS: Final = 24
CELL: Final = 20
ROW: Final = 22
LEFT: Final = 76
TOP: Final = 20
LEVELS: Final = 5
"""How many shades there are beside that of nothing."""


class Cell(NamedTuple):
    """An hour; `level` is its shade, 0 for nothing."""

    x: int
    y: int
    level: int
    title: str


class Label(NamedTuple):
    """A text in a picture."""

    x: int
    y: int
    text: str


class HeatMap(NamedTuple):
    """All hours, with the names of days and hours."""

    width: int
    height: int
    cells: list[Cell]
    labels: list[Label]


def heat_map(since: datetime, counts: Sequence[float]) -> HeatMap:
    """Draw the fires of consecutive hours, from that in which `since` lies, by the hours of UTC.

    Shades go by the square root of the share of the busiest hour, so that a single one leaves the
    others visible; a week without a busy hour is pale.
    """
    begin = since.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    first_day = begin.replace(hour=0)
    most = max([*counts, 4 * sum(counts) / max(1, len(counts))])
    cells, days = [], 0
    for index, count in enumerate(counts):
        at = begin + timedelta(hours=index)
        day = (at - first_day).days
        days = max(days, day + 1)
        title = f"{at:%a %Y-%m-%d %H:00} UTC: {_fires(count)}"
        cells.append(Cell(LEFT + at.hour * CELL, TOP + day * ROW, _level(count, most), title))
    labels = [Label(LEFT + hour * CELL, TOP - 6, f"{hour:02d}") for hour in range(0, HOURS, 3)]
    labels += [
        Label(0, TOP + day * ROW + 16, f"{first_day + timedelta(days=day):%a %d %b}")
        for day in range(days)
    ]
    return HeatMap(LEFT + HOURS * CELL, TOP + days * ROW, cells, labels)


def _level(count: float, most: float) -> int:
    if count <= 0:
        return 0
    return max(1, round(sqrt(count / most) * LEVELS))


def _fires(count: float) -> str:
    return f"{count:,.0f} fire{'' if round(count) == 1 else 's'}"
