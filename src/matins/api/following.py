"""Follows a run: what its attempts write while they run, and what is stored of them at the end.

Live output may be lost in part, or altogether. So at the end of each attempt what was passed on is
compared with what is stored: what is missing follows, or the whole stored output does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from hashlib import blake2b
from typing import Final
from uuid import UUID

import msgspec

from matins.api.status import StatusReader
from matins.domain.executors.protocol import RunStatus
from matins.domain.ports.output import LiveOutput
from matins.domain.run_events import (
    AttemptProgress,
    EventPlace,
    OutputNotice,
    OutputText,
    RunEnd,
    RunEvent,
)
from matins.domain.runs.output import LiveChunk, LiveText, Progress
from matins.domain.runs.states import FINAL, RunState
from matins.kernel.clock import elapsed_s
from matins.store.stored_output import StoredOutput

POLL_S: Final = 1.0
"""How often it is looked how a run stands that is followed."""

GRACE_S: Final = 1.0
"""So long after an attempt's end its last live output is waited for."""

NO_LIVE: Final = "there is no live output now; all of it follows at the end"


class SlowReaderError(Exception):
    """More was waiting for the reader than is held for one."""


class RunFollower:
    """Follows runs for those who ask."""

    def __init__(self, status: StatusReader, live: LiveOutput, stored: StoredOutput) -> None:
        self._status = status
        self._live = live
        self._stored = stored

    async def status(self, run_id: UUID) -> RunStatus:
        """Return how a run stands. Raises NotFoundError."""
        return msgspec.json.decode(await self._status.read(run_id), type=RunStatus)

    async def follow(
        self, status: RunStatus, attempt: int | None = None, place: EventPlace | None = None
    ) -> AsyncGenerator[RunEvent]:
        """Give what happens to a run until its end, from its current attempt on, or until the end
        of one attempt. `place`: what a reader has already who comes again.

        Raises SlowReaderError where the reader does not keep up, so that it comes again.
        """
        yield status
        number = attempt or (place.attempt if place else 0) or max(status.attempt, 1)
        while True:
            if status.attempt >= number:
                standing = _Standing(self, status)
                async for event in self._attempt(standing, number, place):
                    yield event
                status, number, place = standing.status, number + 1, None
            if status.state in FINAL or (attempt is not None and number > attempt):
                break
            if status.attempt < number:
                await asyncio.sleep(POLL_S)
                before, status = status, await self.status(status.id)
                if status != before:
                    yield status
        yield await self._end(status, attempt)

    async def _attempt(
        self, standing: _Standing, number: int, place: EventPlace | None
    ) -> AsyncIterator[RunEvent]:
        run_id = standing.status.id
        seen = _Seen(number, place.offset if place and place.attempt == number else 0)
        if standing.is_on(number):
            async with self._live.follow(run_id, number) as chunks:
                for event in seen.begin(await self._live.so_far(run_id, number)):
                    yield event
                async for event in self._live_events(standing, seen, chunks):
                    yield event
            while standing.is_on(number):  # its last chunk may be faster than the record's reader
                await asyncio.sleep(POLL_S / 10)
                for status in await standing.news():
                    yield status
        if not seen.is_complete:
            async for piece in self._missing(run_id, seen):
                yield piece

    async def _live_events(
        self, standing: _Standing, seen: _Seen, chunks: AsyncIterator[LiveChunk]
    ) -> AsyncIterator[RunEvent]:
        """Give what comes live, until the attempt is over."""
        upcoming: asyncio.Task[LiveChunk | None] | None = None
        over_s: float | None = None
        is_away = False
        try:
            while not seen.is_over and (over_s is None or elapsed_s() - over_s < GRACE_S):
                was_away, is_away = is_away, self._live.is_away()
                if is_away and not was_away:
                    yield OutputNotice(NO_LIVE)
                upcoming = upcoming or asyncio.create_task(_next(chunks))
                rest_s = GRACE_S if over_s is not None else POLL_S
                await asyncio.wait([upcoming], timeout=rest_s)
                if upcoming.done():
                    chunk, upcoming = upcoming.result(), None
                    if chunk is None:
                        raise SlowReaderError
                    for event in seen.take(chunk):
                        yield event
                for status in await standing.news(POLL_S):
                    yield status
                if over_s is None and not standing.is_on(seen.number):
                    over_s = elapsed_s()
        finally:
            if upcoming is not None:
                upcoming.cancel()
                await asyncio.gather(upcoming, return_exceptions=True)

    async def _missing(self, run_id: UUID, seen: _Seen) -> AsyncIterator[OutputText]:
        """Give the rest of what is stored; or all, where that does not follow what was seen."""
        is_rest = seen.has_all and await self._begins_with(run_id, seen)
        at, is_first = (seen.end, False) if is_rest else (0, bool(seen.end))
        async for text in self._stored.pieces(run_id, seen.number, at):
            yield OutputText(seen.number, at, text, whole=is_first)
            at, is_first = at + len(text), False

    async def _begins_with(self, run_id: UUID, seen: _Seen) -> bool:
        """Return whether the stored output begins with what was seen."""
        digest, at = blake2b(), 0
        async for text in self._stored.pieces(run_id, seen.number, 0, seen.end):
            digest.update(text.encode())
            at += len(text)
        return at == seen.end and digest.digest() == seen.digest.digest()

    async def _end(self, status: RunStatus, attempt: int | None) -> RunEnd:
        number = attempt or status.attempt
        return RunEnd(
            state=status.state,
            attempt=number,
            exit_code=await self._stored.exit_code(status.id, number),
            reason=status.reason,
            finished_at=status.finished_at,
        )


class _Standing:
    """How the followed run stands, looked at again and again."""

    def __init__(self, follower: RunFollower, status: RunStatus) -> None:
        self._follower = follower
        self.status = status
        self._looked_s = elapsed_s()

    def is_on(self, number: int) -> bool:
        """Return whether an attempt goes on."""
        return self.status.state is RunState.RUNNING and self.status.attempt == number

    async def news(self, every_s: float = 0.0) -> list[RunStatus]:
        """Return the new status, if it is another one; looked at no more often than that."""
        if elapsed_s() - self._looked_s < every_s:
            return []
        self._looked_s = elapsed_s()
        before, self.status = self.status, await self._follower.status(self.status.id)
        return [] if self.status == before else [self.status]


class _Seen:
    """What was passed on of an attempt."""

    def __init__(self, number: int, offset: int) -> None:
        self.number = number
        self.end = offset
        self.has_all = offset == 0
        """Nothing is missing from its beginning on."""
        self.is_over = False
        self.digest = blake2b()
        self._has_gap = False

    @property
    def is_complete(self) -> bool:
        """Whether all was seen from the first piece on, up to the end."""
        return self.is_over and not self._has_gap

    def begin(self, text: LiveText) -> list[RunEvent]:
        """Take what there is when one begins to follow; a beginning that is not held is no gap."""
        if text.end - text.offset != len(text.text):
            self._has_gap = True
        if text.offset > self.end:
            self.has_all, self.end = False, text.offset
        events = self._take(text.offset, text.text, text.progress)
        self.end = max(self.end, text.end)
        return events

    def take(self, chunk: LiveChunk) -> list[RunEvent]:
        """Take what comes then."""
        if chunk.offset > self.end:
            self._has_gap, self.has_all, self.end = True, False, chunk.offset
        self.is_over = self.is_over or chunk.is_last
        return self._take(chunk.offset, chunk.text, chunk.progress)

    def _take(self, offset: int, text: str, progress: Progress | None) -> list[RunEvent]:
        events: list[RunEvent] = []
        if fresh := text[self.end - offset :]:
            self.digest.update(fresh.encode())
            events.append(OutputText(self.number, self.end, fresh))
            self.end += len(fresh)
        if progress is not None:
            fields = msgspec.structs.asdict(progress)
            events.append(AttemptProgress(attempt=self.number, **fields))
        return events


async def _next(chunks: AsyncIterator[LiveChunk]) -> LiveChunk | None:
    return await anext(chunks, None)
