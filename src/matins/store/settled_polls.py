"""Which polls of an executor a heartbeat can still free: those that none before it has settled.

What was handed out for a poll stays a dead index entry for as long as any session has an older
snapshot. A heartbeat that began at the very first poll would look at all of them, each time.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple
from uuid import UUID

from matins.domain.executors.protocol import Heartbeat

SWEEP: Final = 20
"""Every so many heartbeats all polls are looked at: a database that was restored has old ones."""

_EXECUTORS_MAX: Final = 10_000
_HEALED: Final = (0, 1)
"""No poll has the number 0: it is of what was handed out and had lost its row."""


class _LastHeartbeat(NamedTuple):
    """All polls numbered below `next_seq` can get nothing more and have nothing, but `undone`."""

    heard: int
    next_seq: int
    undone: frozenset[int]


class SettledPolls:
    """What the last heartbeats of executors have settled, as one gateway knows it."""

    def __init__(self) -> None:
        self._last: OrderedDict[UUID, _LastHeartbeat] = OrderedDict()

    def unsettled(self, heartbeat: Heartbeat) -> list[tuple[int, int]]:
        """Return the ranges of polls to look at with a heartbeat: each first number, and past it.

        What the heartbeat itself knows is looked at only as part of a range.
        """
        before = self._last.get(heartbeat.executor)
        if before is None or before.heard % SWEEP == 0:
            return [(0, heartbeat.next_seq)]
        gone = before.undone.difference(heartbeat.awaiting, heartbeat.open, heartbeat.closed)
        singles = [(seq, seq + 1) for seq in sorted(gone)]
        return [_HEALED, *singles, (before.next_seq, heartbeat.next_seq)]

    def note(self, heartbeat: Heartbeat) -> None:
        """Note that what a heartbeat does not know was put back."""
        before = self._last.get(heartbeat.executor)
        heard = before.heard + 1 if before else 1
        undone = frozenset(heartbeat.awaiting).union(heartbeat.open)
        self._last[heartbeat.executor] = _LastHeartbeat(heard, heartbeat.next_seq, undone)
        self._last.move_to_end(heartbeat.executor)
        if len(self._last) > _EXECUTORS_MAX:
            self._last.popitem(last=False)
