"""A dead man's switch: an outside URL is called while all is well, so that somebody notices when no
call comes.
"""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from matins.domain.ports import Clock
from matins.domain.ports.status import StatusView
from matins.domain.status.findings import beside_channels
from matins.kernel.connection import ConnectError
from matins.kernel.contact import Contact
from matins.kernel.http_client import HttpClient, LostAnswerError
from matins.kernel.service import repeat

_CALL_S: Final = 10.0

log = structlog.get_logger()


class DeadMansSwitch:
    """Calls a URL regularly, unless something is wrong. See `kernel.service.Service`.

    Each process that has it calls, so that one of them is enough.
    """

    def __init__(self, url: str, every_s: float, system: StatusView, clock: Clock) -> None:
        """`url` is a secret: no message names it."""
        self._url = url
        self._every_s = every_s
        self._system = system
        self._clock = clock
        self._stopping = asyncio.Event()
        self._http = HttpClient({})
        self._contact = Contact(clock.elapsed_s, "switch.not_called", "switch.called")

    async def run(self) -> None:
        """Work until stopped."""
        try:
            await repeat(self.call, self._every_s, self._clock, self._stopping, name="switch")
        finally:
            self._http.close()

    async def stop(self) -> None:
        """End soon."""
        self._stopping.set()

    async def call(self) -> bool:
        """Call if all is well; return whether the call was answered well."""
        status = await self._system.status()
        if wrong := beside_channels(status):
            self._contact.failed("; ".join(finding.what for finding in wrong))
            return False
        try:
            code, _ = await self._http.exchange("GET", self._url, None, _CALL_S)
        except (ConnectError, LostAnswerError) as error:
            self._contact.failed(error)
            return False
        if not 200 <= code < 300:
            self._contact.failed(f"it was answered with status {code}")
            return False
        self._contact.worked()
        return True
