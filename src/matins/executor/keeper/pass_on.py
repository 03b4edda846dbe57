"""When the output of running commands is passed on: for all that have any at the same moments.

The clock's ticks are shared, so that many commands cost few wake-ups and few batches behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush
from math import ceil

from matins.executor.keeper.channel import KeeperChannel
from matins.executor.keeper.clock import boot_s
from matins.executor.keeper.frames import KeeperLimits, encode
from matins.executor.keeper.held import HeldCommand

TICK_S = 0.05

UNSENT_MAX = 1024 * 1024
"""With so many bytes untaken by the executor, live output is left out."""

UNSENT_WHOLE_MAX = 16 * 1024 * 1024
"""With so many, what is to be kept as well."""


class PassOn:
    """Sends the executor what commands write. A command without news costs nothing here."""

    def __init__(
        self, executor: KeeperChannel, held: Mapping[int, HeldCommand], limits: KeeperLimits
    ) -> None:
        self._executor = executor
        self._held = held
        self._every_s = limits.live_every_s
        self._moments: list[tuple[float, int]] = []

    @property
    def next_at(self) -> float | None:
        """When `pass_due` has something to do."""
        return self._moments[0][0] if self._moments else None

    def note(self, held: HeldCommand) -> None:
        """See to it that news of a command are passed on in time."""
        passing = held.command.passing
        if passing.is_full:
            self._pass(held)
        elif held.passed_on_at is None and passing.has_news:
            at = max(boot_s() + self._every_s, held.command.passes_from)
            held.passed_on_at = ceil(at / TICK_S) * TICK_S
            heappush(self._moments, (held.passed_on_at, held.command.id))

    def pass_due(self, now: float) -> None:
        """Pass on what is to be passed on by now."""
        while self._moments and self._moments[0][0] <= now:
            _, number = heappop(self._moments)
            held = self._held.get(number)
            if held is not None:
                held.passed_on_at = None
                if held.command.passing.has_news:
                    self._pass(held)
                    self.note(held)  # again, if there was no room

    def finish(self, held: HeldCommand) -> None:
        """Pass on the rest of a command that is over."""
        passing = held.command.passing
        if passing.is_kept or self._has_room(held):
            self._send(held, passing.finish())

    def _pass(self, held: HeldCommand) -> None:
        if self._has_room(held):
            self._send(held, held.command.passing.take())

    def _has_room(self, held: HeldCommand) -> bool:
        most = UNSENT_WHOLE_MAX if held.command.passing.is_kept else UNSENT_MAX
        return self._executor.unsent < most

    def _send(self, held: HeldCommand, words: Mapping[str, object]) -> None:
        if words:
            self._executor.send(encode({"id": held.command.id, **words}))
