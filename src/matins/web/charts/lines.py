"""A figure over the last minutes as a line with its area; a target is a line across."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

WIDTH: Final = 240
HEIGHT: Final = 44
PAD: Final = 2
"""How far the line keeps from the upper and the lower edge."""


class DrawnLine(NamedTuple):
    """A line in a picture of that size, as the paths of an SVG. `target_y`: None, if it has none.

    `top` is the value at the upper edge; `label` tells the picture in words.
    """

    width: int
    height: int
    path: str
    area: str
    target_y: float | None
    top: float
    label: str


def plain(value: float) -> float:
    """Return a value as high as it is."""
    return value


def line(
    values: Sequence[float | None],
    label: str,
    target: float | None = None,
    scale: Callable[[float], float] = plain,
) -> DrawnLine:
    """Draw values, oldest first, from 0 upwards; where one is None the line has a gap.

    The target is always in the picture. `scale` says how high a value is beside another one.
    """
    known = [value for value in values if value is not None]
    top = max([*known, target or 0.0]) or 1.0
    step = WIDTH / max(len(values) - 1, 1)

    def height_of(value: float) -> float:
        share = scale(value) / scale(top)
        return round(HEIGHT - PAD - share * (HEIGHT - 2 * PAD), 1)

    lines, areas = [], []
    for start, piece in _pieces(values):
        points = [
            f"{round((start + index) * step, 1):g} {height_of(value):g}"
            for index, value in enumerate(piece)
        ]
        first, last = round(start * step, 1), round((start + len(piece) - 1) * step, 1)
        lines.append(f"M{' L'.join(points if len(points) > 1 else points * 2)}")
        areas.append(f"M{first:g} {HEIGHT} L{' L'.join(points)} L{last:g} {HEIGHT} Z")
    target_y = None if target is None else height_of(target)
    return DrawnLine(WIDTH, HEIGHT, " ".join(lines), " ".join(areas), target_y, top, label)


def _pieces(values: Sequence[float | None]) -> list[tuple[int, list[float]]]:
    """Return the stretches without a gap, each with the place where it begins."""
    pieces: list[tuple[int, list[float]]] = []
    is_open = False
    for place, value in enumerate(values):
        if value is None:
            is_open = False
        elif is_open:
            pieces[-1][1].append(value)
        else:
            pieces.append((place, [value]))
            is_open = True
    return pieces
