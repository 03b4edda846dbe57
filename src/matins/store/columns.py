"""Columns of a batch, as a statement is told of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

_T = TypeVar("_T")


def unless_usual(column: Iterable[_T], usual: _T) -> list[_T]:
    """Return a column; an empty one where all of it is what the statement takes for usual.

    The driver spends most of a batch's time on the members of its arrays.
    """
    values = list(column)
    return [] if values.count(usual) == len(values) else values


def fence_columns(wanted: Collection[int], epochs: Mapping[int, int]) -> dict[str, object]:
    """Return what `fragments/fence.sql` is told of the partitions that a statement writes in."""
    leased = sorted(partition for partition in wanted if partition in epochs)
    return {"partitions": leased, "epochs": [epochs[partition] for partition in leased]}
