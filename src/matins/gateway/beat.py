"""Hears executors' beats, and tells them what they must stop."""

from __future__ import annotations

from matins.domain.handouts import Beat, BeatAnswer
from matins.domain.ports import Dispatch
from matins.gateway.checks import check_beat


class Hearing:
    """Passes a checked beat on; what is held is compared with the rows by the store."""

    def __init__(self, dispatch: Dispatch) -> None:
        self._dispatch = dispatch

    async def beat(self, beat: Beat) -> BeatAnswer:
        """Note a sign of life. Raises InvalidInputError, UnavailableError."""
        check_beat(beat)
        return await self._dispatch.beat(beat)
