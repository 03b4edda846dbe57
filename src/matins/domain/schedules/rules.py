"""When a schedule is due, as functions of an instant in whole seconds from 1970 UTC.

`next_after` is strictly after, `previous_before` strictly before the instant that they are given,
and the one retraces the other. Each answers in bounded time, and None at either end of time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from matins.domain.time.civil import FIRST_S, LAST_S


class Rule(Protocol):
    """A sequence of due times."""

    def next_after(self, instant: int) -> int | None:
        """Return the first due time strictly after an instant."""
        ...

    def previous_before(self, instant: int) -> int | None:
        """Return the last due time strictly before an instant."""
        ...


class LimitedRule:
    """The due times of a rule from one instant to another, both included."""

    __slots__ = ("_base", "_first", "last")

    def __init__(self, base: Rule, first: int = FIRST_S, last: int = LAST_S) -> None:
        self._base = base
        self._first = first
        self.last = last

    def next_after(self, instant: int) -> int | None:
        """Return the first due time strictly after an instant."""
        due = self._base.next_after(max(instant, self._first - 1))
        return None if due is None or due > self.last else due

    def previous_before(self, instant: int) -> int | None:
        """Return the last due time strictly before an instant."""
        due = self._base.previous_before(min(instant, self.last + 1))
        return None if due is None or due < self._first else due


class UnionRule:
    """Due when at least one of several rules is; what they have in common is due once."""

    __slots__ = ("_rules",)

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules

    def next_after(self, instant: int) -> int | None:
        """Return the first due time strictly after an instant."""
        dues = (rule.next_after(instant) for rule in self._rules)
        return min((due for due in dues if due is not None), default=None)

    def previous_before(self, instant: int) -> int | None:
        """Return the last due time strictly before an instant."""
        dues = (rule.previous_before(instant) for rule in self._rules)
        return max((due for due in dues if due is not None), default=None)


class NoRule:
    """Never due by itself: each due time follows from something that can't be known before."""

    __slots__ = ()

    def next_after(self, instant: int) -> int | None:
        """Return None."""
        del instant
        return None

    def previous_before(self, instant: int) -> int | None:
        """Return None."""
        del instant
        return None


def nth_after(rule: Rule, instant: int, count: int) -> int | None:
    """Return the n-th due time strictly after an instant, or the last one if there are fewer."""
    newest = None
    for _ in range(count):
        due = rule.next_after(instant)
        if due is None:
            break
        newest = instant = due
    return newest
