"""The lines at the gates: who stands first where there is room is asked about."""

from __future__ import annotations

import asyncio
from typing import Final

from matins.domain.ports import Clock, Hints, WaitingRoom
from matins.domain.runs.admission.hints import CHANNEL, gate_of
from matins.kernel.service import background, repeat_at_hints
from matins.scheduler.admission import BATCH
from matins.scheduler.working_set import WorkingSet

_LEAST_PAUSE_S: Final = 0.01
"""How long a rate is waited for at least. Its tolerance is longer, so that no start is lost."""


class LineWatch:
    """Looks at the lines of gates when a hint says that there is room, when a rate lets the next
    one start, and again and again behind that.
    """

    def __init__(
        self,
        working_set: WorkingSet,
        room: WaitingRoom,
        hints: Hints,
        clock: Clock,
        *,
        fired: asyncio.Event,
        poll_s: float,
    ) -> None:
        """`fired` wakes whoever asks; all lines are looked at every `poll_s`."""
        self._working_set = working_set
        self._room = room
        self._hints = hints
        self._clock = clock
        self._fired = fired
        self._poll_s = poll_s
        self._hinted = asyncio.Event()
        self._gates: set[int] = set()
        self._next_poll_s = 0.0
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Look until `stop`."""
        async with background(self._listen, self._clock, name="lines.listen"):
            await repeat_at_hints(
                *(self._look, self._poll_s, self._clock, self._hinted, self._stopping),
                name="lines.look",
            )

    async def stop(self) -> None:
        """See `kernel.service.Service`."""
        self._stopping.set()

    async def _look(self) -> float:
        """Have those asked about who stand first; return how long nothing more is to be seen."""
        self._hinted.clear()
        gates, self._gates = self._gates, set()
        is_poll = self._clock.elapsed_s() >= self._next_poll_s
        if is_poll:
            self._next_poll_s = self._clock.elapsed_s() + self._poll_s
        lines = await self._room.gate_lines(None if is_poll else gates, BATCH)
        waiting, partitions = self._working_set.waiting, self._working_set.epochs.keys()
        if first := [run for run in lines.first(partitions) if run.run_id not in waiting]:
            waiting.ask_about(first)
            self._fired.set()
        left_s = self._next_poll_s - self._clock.elapsed_s()
        if opening := lines.opening():
            self._gates |= opening.keys()
            left_s = min(left_s, (min(opening.values()) - lines.now).total_seconds())
        return max(left_s, _LEAST_PAUSE_S)

    async def _listen(self) -> None:
        async for word in self._hints.listen(CHANNEL):
            if (gate_id := gate_of(word)) is not None:
                self._gates.add(gate_id)
                self._hinted.set()
