"""Counts that are good for a while where they are large: for people to look at."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from typing import Final, Generic, NamedTuple, TypeVar

from matins.kernel.clock import elapsed_s

MANY: Final = 10_000
KEPT_S: Final = 10.0
"""Who counts fewer than so many rows gets them anew each time: it takes no time. Of more than
that, nobody sees that the number is so old.
"""

T = TypeVar("T")


class _Answer(NamedTuple, Generic[T]):
    value: T
    until_s: float


class KeptCounts(Generic[T]):
    """What was counted lately, by what was asked. `total` tells of how many rows an answer is."""

    def __init__(self, total: Callable[[T], int]) -> None:
        self._total = total
        self._answers: dict[Hashable, _Answer[T]] = {}

    async def get(self, asked: Hashable, read: Callable[[], Awaitable[T]]) -> T:
        """Return the answer that is kept, or else read one."""
        kept = self._answers.get(asked)
        if kept is not None and elapsed_s() < kept.until_s:
            return kept.value
        value = await read()
        now_s = elapsed_s()
        self._answers = {
            key: answer for key, answer in self._answers.items() if answer.until_s > now_s
        }
        if self._total(value) >= MANY:
            self._answers[asked] = _Answer(value, now_s + KEPT_S)
        return value
