"""Going on where somebody else holds a lock on a part: what is blocked is told apart by pieces."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from matins.domain.values.errors import BlockedError

PIECES: Final = 16
"""Into so many pieces is cut of which something is blocked."""

T = TypeVar("T")


def cut(items: Sequence[T]) -> list[Sequence[T]]:
    """Return the items in pieces of about the same size."""
    size = max(1, -(-len(items) // PIECES))
    return [items[at : at + size] for at in range(0, len(items), size)]


async def piecewise(
    items: Sequence[T], work: Callable[[Sequence[T]], Awaitable[object]]
) -> list[T]:
    """Do the work with all items at once, or in pieces where it is blocked.

    Return the items that are blocked each for itself. Raises what `work` raises but BlockedError.
    """
    blocked: list[T] = []
    waiting = [items]
    while waiting:
        part = waiting.pop()
        try:
            await work(part)
        except BlockedError:
            if len(part) == 1:
                blocked += part
            else:
                waiting += cut(part)
    return blocked
