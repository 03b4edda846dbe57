"""A role as a child process: started, watched, started again when it dies, stopped in order."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping

import structlog

log = structlog.get_logger()

AGAIN_S = (0.1, 0.5, 1.0, 2.0, 5.0)
"""The pauses before a role that died is started again; the last one repeats."""

STEADY_S = 30.0
"""A role that ran for so long begins again with the shortest pause."""

KILL_AFTER_S = 15.0


class Child:
    """One role in a session of its own, so that a terminal's Ctrl-C reaches only its parent.

    It holds the reading end of a pipe and stops when that ends, so it does not outlive its parent.
    """

    def __init__(self, role: str, arguments: list[str], environment: Mapping[str, str]) -> None:
        self.role = role
        self._arguments = arguments
        self._environment = dict(environment)
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = False

    @property
    def pid(self) -> int | None:
        """The process id, while it runs."""
        return self._process.pid if self._process and self._process.returncode is None else None

    async def start(self) -> None:
        """Start the process."""
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "matins", self.role, *self._arguments),
            stdin=asyncio.subprocess.PIPE,
            env=self._environment,
            start_new_session=True,
        )

    async def watch(self) -> None:
        """Start it again whenever it ends, until it is stopped."""
        deaths = 0
        while self._process:
            loop = asyncio.get_running_loop()
            started = loop.time()
            code = await self._process.wait()
            if self._stopping:
                return
            deaths = 0 if loop.time() - started > STEADY_S else deaths
            wait_s = AGAIN_S[min(deaths, len(AGAIN_S) - 1)]
            log.error("role.died", child=self.role, exit_code=code, again_in_s=wait_s)
            deaths += 1
            await asyncio.sleep(wait_s)
            if not self._stopping:
                await self.start()

    async def stop(self, within_s: float, hurry: asyncio.Event) -> None:
        """SIGTERM, and SIGKILL if it has not ended `within_s` later, or once there is hurry."""
        self._stopping = True
        process = self._process
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        ended, hurried = asyncio.ensure_future(process.wait()), asyncio.ensure_future(hurry.wait())
        await asyncio.wait(
            [ended, hurried],
            timeout=within_s + KILL_AFTER_S,
            return_when=asyncio.FIRST_COMPLETED,
        )
        hurried.cancel()
        if not ended.done():
            log.warning("role.killed", child=self.role)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        await ended
