"""Counts as columns side by side: a histogram."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

HEIGHT: Final = 96
FOOT: Final = 16
"""Room for the labels below."""


class Column(NamedTuple):
    """A count as a column, in pixels from the upper left."""

    x: float
    y: float
    width: float
    height: float
    title: str
    is_most: bool


class ColumnLabel(NamedTuple):
    """A text below the columns."""

    x: float
    text: str


class Columns(NamedTuple):
    """All columns, with their labels."""

    width: int
    height: int
    base: int
    columns: list[Column]
    marks: list[ColumnLabel]


def columns(
    counts: Sequence[float], titles: Sequence[str], marks: Sequence[str], width: int
) -> Columns:
    """Draw counts in a picture that wide. `marks` are the labels below, some of them empty."""
    step = width / max(1, len(counts))
    gap = 1.0 if step >= 3 else 0.0
    most = max(counts, default=0.0)
    shown = []
    for index, (count, title) in enumerate(zip(counts, titles, strict=True)):
        height = round(count / most * HEIGHT, 1) if most else 0.0
        height = max(height, 1.5) if count > 0 else 0.0
        x = round(index * step, 1)
        is_most = count == most and count > 0
        shown.append(Column(x, HEIGHT - height, round(step - gap, 1), height, title, is_most))
    texts = [ColumnLabel(round(index * step, 1), text) for index, text in enumerate(marks) if text]
    return Columns(width, HEIGHT + FOOT, HEIGHT, shown, texts)
