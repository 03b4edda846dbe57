"""What the log says of a state that goes on: its begin, now and then meanwhile, and its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import structlog

AGAIN_S: Final = 300.0
"""So often a state that goes on is written again."""

log = structlog.get_logger()


class Spell(NamedTuple):
    """How long a state goes on, how often it failed, and when it was last written."""

    begun_s: float
    failures: int
    written_s: float


def with_failure(spell: Spell | None, now_s: float) -> tuple[Spell, bool]:
    """Return the state after one failure more, and whether that is to be written."""
    if spell is None:
        return Spell(now_s, 1, now_s), True
    is_written = now_s - spell.written_s >= AGAIN_S
    written_s = now_s if is_written else spell.written_s
    return Spell(spell.begun_s, spell.failures + 1, written_s), is_written


class Contact:
    """Contact of some work with its peer. `lost` and `found` are the events in the log."""

    def __init__(self, elapsed_s: Callable[[], float], lost: str, found: str, **what: str) -> None:
        """`elapsed_s` reads a clock."""
        self._elapsed_s = elapsed_s
        self._log = log.bind(**what)
        self._events = lost, found
        self._spell: Spell | None = None

    def failed(self, error: object, **figures: object) -> None:
        """The peer could not be used, because of an error; `figures` go into the log."""
        now_s = self._elapsed_s()
        is_first = self._spell is None
        self._spell, is_written = with_failure(self._spell, now_s)
        if not is_written:
            return
        if not is_first:
            figures |= {"failures": self._spell.failures, "for_s": self._for_s(self._spell)}
        self._log.warning(self._events[0], error=str(error), **figures)

    def worked(self) -> None:
        """The peer was used."""
        if self._spell is not None:
            failures, for_s = self._spell.failures, self._for_s(self._spell)
            self._log.info(self._events[1], failures=failures, for_s=for_s)
        self._spell = None

    def _for_s(self, spell: Spell) -> float:
        return round(self._elapsed_s() - spell.begun_s, 1)
