"""Hints by NOTIFY: may be lost, so a poll stands behind each. See `domain.ports.Hints`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import suppress

from matins.domain.values.errors import UnavailableError
from matins.kernel.clock import elapsed_s
from matins.kernel.contact import Contact
from matins.store.database import Database, driver_errors, session_settings
from matins.store.queries import load_queries
from matins.store.server import Session

_Q = load_queries("hints.sql")
_QUEUE_MAX = 1000
_SILENCE_S = 5.0
_SILENCES = 3
"""After so many silences a connection has to prove that it is alive: a poll stands behind it."""
_DEADLINE_S = 5.0
_RETRY_S = 1.0


class PostgresHints:
    """Hints through PostgreSQL. Sent outside of every hot transaction: NOTIFY takes a global lock
    at commit.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def send(self, channel: str, words: Collection[str]) -> None:
        """See `domain.ports.Hints`."""
        await self._database.fetch(_Q["send"], channel=f"matins_{channel}", words=list(words))

    async def listen(self, channel: str) -> AsyncIterator[str]:
        """See `domain.ports.Hints`. Connects again by itself, for ever."""
        contact = Contact(elapsed_s, "hints.disconnected", "hints.connected", channel=channel)
        while True:
            try:
                async for word in self._listen_once(f"matins_{channel}"):
                    contact.worked()
                    yield word
            except UnavailableError as error:
                contact.failed(error)
                await asyncio.sleep(_RETRY_S)

    async def _listen_once(self, channel: str) -> AsyncIterator[str]:
        words: asyncio.Queue[str] = asyncio.Queue(_QUEUE_MAX)
        async with driver_errors():
            settings = session_settings("listen", by_key_only=False, deadline_s=_DEADLINE_S)
            session = await self._database.server.connect(settings, _DEADLINE_S)
            try:
                await session.add_listener(channel, _into(words))
                yield ""
                while True:
                    word = await self._next(words, session)
                    if word is not None:
                        yield word
            finally:
                session.terminate()

    async def _next(self, words: asyncio.Queue[str], session: Session) -> str | None:
        """Return the next word; None after a silence in which the connection proved to be alive.

        Raises UnavailableError once another server has taken over, whose words are not heard here.
        """
        for _ in range(_SILENCES):
            word = None
            with suppress(TimeoutError):
                async with asyncio.timeout(_SILENCE_S):
                    word = await words.get()
            if session.era != self._database.server.era:
                raise UnavailableError("PostgreSQL: another server has taken over meanwhile")
            if word is not None:
                return word
        await session.execute("SELECT 1")
        return None


def _into(words: asyncio.Queue[str]) -> Callable[[object, int, str, object], None]:
    def heard(_session: object, _pid: int, _channel: str, word: object) -> None:
        if not words.full():
            words.put_nowait(str(word))

    return heard
