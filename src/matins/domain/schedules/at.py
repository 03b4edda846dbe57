"""`at`: one instant or a list of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right


class InstantsRule:
    """Due at listed instants, each once."""

    __slots__ = ("_instants",)

    def __init__(self, instants: list[int]) -> None:
        self._instants = sorted(set(instants))

    def next_after(self, instant: int) -> int | None:
        """Give the first due time strictly after an instant."""
        index = bisect_right(self._instants, instant)
        return self._instants[index] if index < len(self._instants) else None

    def previous_before(self, instant: int) -> int | None:
        """Give the last due time strictly before an instant."""
        index = bisect_left(self._instants, instant)
        return self._instants[index - 1] if index else None
