"""Single occurrences of a job that are skipped or moved, as exceptions to its schedule."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from matins.domain.schedules.rules import Rule
from matins.domain.schedules.schedule import Override
from matins.domain.time.instants import epoch_s

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class OverriddenRule:
    """A rule with overrides: what is skipped or moved stays a due time, and gives its reason."""

    __slots__ = ("_base", "_reason", "_skipped", "_targets")

    def __init__(
        self, base: Rule, reason: Callable[[int], str] | None, overrides: Sequence[Override]
    ) -> None:
        self._base = base
        self._reason = reason
        self._skipped = {epoch_s(override.due_at): _reason_of(override) for override in overrides}
        self._targets = sorted(
            {epoch_s(override.move_to) for override in overrides if override.move_to}
        )

    def next_after(self, instant: int) -> int | None:
        """Return the first due time strictly after an instant."""
        due = self._base.next_after(instant)
        index = bisect_right(self._targets, instant)
        if index == len(self._targets):
            return due
        return self._targets[index] if due is None else min(due, self._targets[index])

    def previous_before(self, instant: int) -> int | None:
        """Return the last due time strictly before an instant."""
        due = self._base.previous_before(instant)
        index = bisect_left(self._targets, instant)
        if index == 0:
            return due
        return self._targets[index - 1] if due is None else max(due, self._targets[index - 1])

    def skip_reason(self, due: int) -> str:
        """Return why a due time does not run; empty when it does. Where one was moved to, it
        does.
        """
        if due in self._targets:
            return ""
        own = self._skipped.get(due)
        if own is not None:
            return own
        return self._reason(due) if self._reason else ""


def _reason_of(override: Override) -> str:
    added = f": {override.reason}" if override.reason else ""
    if override.move_to is None:
        return f"skipped by an override{added}"
    moved = _EPOCH + timedelta(seconds=epoch_s(override.move_to))
    return f"moved to {moved.isoformat()}{added}"
