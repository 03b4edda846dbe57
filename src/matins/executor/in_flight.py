"""What an executor holds, kept so that each heartbeat is one consistent picture. Pure bookkeeping.

A poll goes from awaiting to open when its answer brings attempts, from open to closed when the last
of them is confirmed, and is forgotten once a heartbeat has said so. A poll that brought nothing, or
was given up, is in none of these: what may have been handed out for it goes back on the queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from matins.domain.executors.protocol import Heartbeat
from matins.domain.runs.attempts import Attempt

AttemptName = tuple[UUID, int]
"""A run's id and the attempt's number."""


class InFlight:
    """The polls and attempts of one executor incarnation."""

    def __init__(self) -> None:
        self._next_seq = 1
        self._awaiting: set[int] = set()
        self._open: dict[int, int] = {}
        self._closed: set[int] = set()
        self._held: dict[AttemptName, int] = {}

    def __len__(self) -> int:
        """Return how many attempts are held: those that run and those whose end is not
        confirmed.
        """
        return len(self._held)

    def ask(self) -> int:
        """Begin a poll; gives its number."""
        seq = self._next_seq
        self._next_seq += 1
        self._awaiting.add(seq)
        return seq

    def give_up(self, seq: int) -> None:
        """Forget a poll that will not be asked again; nothing, if it was answered."""
        self._awaiting.discard(seq)

    def arrive(self, seq: int, attempts: Sequence[Attempt]) -> list[Attempt]:
        """Take the answer to a poll; gives the attempts that are not held already."""
        assert seq in self._awaiting, "a poll is answered once"
        self._awaiting.remove(seq)
        fresh = {
            name: attempt
            for attempt in attempts
            if (name := (attempt.run_id, attempt.number)) not in self._held
        }
        self._held |= dict.fromkeys(fresh, seq)
        if fresh:
            self._open[seq] = len(fresh)
        elif attempts:
            self._closed.add(seq)
        return list(fresh.values())

    def evict(self, names: Iterable[AttemptName]) -> None:
        """Forget attempts whose end is confirmed, or is no longer ours to report."""
        for name in names:
            seq = self._held.pop(name)
            self._open[seq] -= 1
            if not self._open[seq]:
                del self._open[seq]
                self._closed.add(seq)

    def picture(
        self, executor: UUID, name: str, pools: list[str], slots: int, *, stopped: bool = False
    ) -> Heartbeat:
        """Return the heartbeat that says all of this as it is now."""
        return Heartbeat(
            executor=executor,
            name=name,
            pools=pools,
            slots=slots,
            next_seq=self._next_seq,
            awaiting=sorted(self._awaiting),
            open=list(self._open),
            closed=list(self._closed),
            held=list(self._held),
            stopped=stopped,
        )

    def heard(self, heartbeat: Heartbeat) -> None:
        """Forget the closed polls of a heartbeat that was answered."""
        self._closed.difference_update(heartbeat.closed)
