"""The output of attempts: live while they run, and kept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import date
from typing import Protocol
from uuid import UUID

from matins.domain.runs.output import LiveChunk, LiveText, OutputChunk


class LiveOutput(Protocol):
    """Output of running attempts, which may be lost at any moment. Never raises: what is away is
    silent.
    """

    def is_away(self) -> bool:
        """Return whether there is no way to live output now, as far as it is known."""

    async def append(self, chunks: Sequence[LiveChunk]) -> None:
        """Hold chunks for those who begin to follow, and pass them to those who do."""

    async def so_far(self, run_id: UUID, number: int) -> LiveText:
        """Return the last part of what came of an attempt: at most `LIVE_MAX` characters."""

    def follow(
        self, run_id: UUID, number: int
    ) -> AbstractAsyncContextManager[AsyncIterator[LiveChunk]]:
        """Follow an attempt: gives its chunks from the moment on at which it is entered.

        Enter it, read `so_far`, then pass over what ends before that. It gives nothing while the
        way is away. It ends for a reader that is so slow that too much waits for it, and not at
        the attempt's end.
        """


class KeptOutput(Protocol):
    """Whole outputs, up to the bound of their team."""

    async def append(self, chunks: Sequence[OutputChunk]) -> None:
        """Keep chunks; one that is there already stays as it is. Raises UnavailableError."""

    async def length(self, run_id: UUID, number: int) -> int:
        """Return the end of what is kept of an attempt, in characters; 0 if nothing is: what its
        row has is all then. Raises UnavailableError.
        """

    async def read(self, run_id: UUID, number: int, start: int, end: int) -> str:
        """Return what is kept between two offsets; what is not there is left out.

        Raises UnavailableError.
        """


class OutsideOutput(KeptOutput, Protocol):
    """Whole outputs outside of the database, which don't go with the tables of their days. Also a
    `domain.ports.status.Probe`.
    """

    async def fault(self) -> str:
        """See `domain.ports.status.Probe`."""

    async def forget(self, run_ids: Collection[UUID]) -> None:
        """Delete what is kept of these runs. Raises UnavailableError: then some may be left."""

    async def forget_day(self, day: date) -> None:
        """Delete what is kept of the runs of a day. Raises UnavailableError: then some may be
        left.
        """
