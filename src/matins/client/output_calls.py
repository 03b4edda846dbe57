"""The SDK's methods for the output of runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final
from uuid import UUID

import msgspec

from matins.client.calls import ApiCalls
from matins.client.event_stream import EventReader, ServerEvent
from matins.client.paths import query_of
from matins.domain.executors.protocol import RunStatus
from matins.domain.run_events import RUN_EVENTS, RunEnd, RunEvent
from matins.domain.values.errors import UnavailableError
from matins.kernel.clock import elapsed_s

AGAIN_S: Final = 1.0
"""How long after a stream broke off it is begun again."""

LOST_S: Final = 60.0
"""After so long without an API it is given up."""


class OutputCalls:
    """Reads outputs of runs, and follows them. Part of `Matins`."""

    _calls: ApiCalls

    async def get_run_output(
        self, run_id: UUID, *, attempt: int | None = None, tail: int | None = None
    ) -> str:
        """Return the output of an attempt of a run, or of the last one: all of it that is stored,
        or the last lines; of one that goes on, what there is so far.
        """
        query = query_of(attempt=attempt, tail=tail)
        return await self._calls.read_text(_path(run_id), query)

    async def follow_run(
        self, run_id: UUID, *, attempt: int | None = None
    ) -> AsyncGenerator[RunEvent]:
        """Give what happens to a run, from its current attempt on: `OutputText` as it is written,
        `AttemptProgress`, `RunStatus` where that changes, and at last a `RunEnd`.

        A stream that breaks off is begun again where it was. Raises UnavailableError where no API
        was there for a minute.
        """
        query, place, last = query_of(attempt=attempt), "", None
        lost_s: float | None = None
        while True:
            try:
                async with aclosing(self._stream(run_id, query, place)) as events:
                    async for event in events:
                        lost_s, place = None, event.id or place
                        told = _read(event)
                        if told is None or told == last:
                            continue
                        last = told if isinstance(told, RunStatus) else last
                        yield told
                        if isinstance(told, RunEnd):
                            return
            except UnavailableError:
                lost_s = elapsed_s() if lost_s is None else lost_s
                if elapsed_s() - lost_s > LOST_S:
                    raise
            await asyncio.sleep(AGAIN_S)

    async def _stream(
        self, run_id: UUID, query: dict[str, str], place: str
    ) -> AsyncGenerator[ServerEvent]:
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": place} if place else {})
        async with self._calls.stream(_path(run_id), query, headers) as pieces:
            reader = EventReader()
            async for piece in pieces:
                for event in reader.feed(piece):
                    yield event


def _path(run_id: UUID) -> str:
    return f"/v1/runs/{run_id}/output"


def _read(event: ServerEvent) -> RunEvent | None:
    """Return an event; None for one that this version does not know."""
    kind = RUN_EVENTS.get(event.name)
    try:
        return None if kind is None else msgspec.json.decode(event.data, type=kind)
    except msgspec.DecodeError as error:
        raise UnavailableError(f"an event of the API can't be read: {error}") from error
