"""Sending wake-ups without waiting for them where it would cost time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import structlog

from matins.domain.ports import Hints
from matins.domain.values.errors import UnavailableError
from matins.kernel.clock import elapsed_s
from matins.kernel.contact import Contact

log = structlog.get_logger()


class HintSender:
    """Gathers the words of one channel and sends them as fast as the last words were sent."""

    def __init__(self, hints: Hints, channel: str) -> None:
        self._hints = hints
        self._channel = channel
        self._words: set[str] = set()
        self._waiting = asyncio.Event()
        self._stopped = False
        self._contact = Contact(elapsed_s, "hints.not_sent", "hints.sent", channel=channel)

    def send(self, words: Iterable[str]) -> None:
        """Have words sent soon. They may be lost: the receivers poll as well."""
        self._words.update(words)
        if self._words:
            self._waiting.set()

    async def run(self) -> None:
        """Send until `stop`."""
        while not self._stopped:
            await self._waiting.wait()
            self._waiting.clear()
            words, self._words = sorted(self._words), set()
            if words:
                await self._send(words)

    async def stop(self) -> None:
        """See `kernel.service.Service`."""
        self._stopped = True
        self._waiting.set()

    async def _send(self, words: list[str]) -> None:
        try:
            await self._hints.send(self._channel, words)
            self._contact.worked()
        except UnavailableError as error:
            self._contact.failed(error)
