"""Run status in Valkey: only what may be lost at any moment. See `domain.ports.StatusCache`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from uuid import UUID

import msgspec
import structlog

from matins.cache.connecting import REST_S, connect
from matins.domain.executors.protocol import RunStatus
from matins.domain.runs.states import FINAL, LASTING
from matins.kernel.clock import elapsed_s
from matins.kernel.contact import Contact

log = structlog.get_logger()

_FINAL_MS = 3_600_000
_MOVING_MS = 1_000

_PROBE = b"matins:probe"

# One command for a batch. Final statuses are written over whatever is there; others only where
# nothing is, and for a moment, so that a late writer can't hide the end of a run for long.
_PUT = """
for i = 1, #KEYS do
  if ARGV[1] == 'final' then
    redis.call('SET', KEYS[i], ARGV[i + 2], 'PX', ARGV[2])
  else
    redis.call('SET', KEYS[i], ARGV[i + 2], 'PX', ARGV[2], 'NX')
  end
end
"""


class ValkeyStatusCache:
    """Statuses as JSON under the run's id.

    After any error it rests for a moment, so that a Valkey that is away costs nothing; reads of all
    who ask at once share one command, and all of them are answered, whatever comes of it. What is
    not the status of its run is not there.
    """

    def __init__(self, url: str) -> None:
        self._client = connect(url)
        self._put = self._client.register_script(_PUT)
        self._rests_until = 0.0
        self._contact = Contact(elapsed_s, "cache.away", "cache.found")
        self._asked: dict[UUID, asyncio.Future[bytes | None]] = {}
        self._reader: asyncio.Task[None] | None = None

    async def put(self, statuses: Sequence[RunStatus]) -> None:
        """See `domain.ports.StatusCache`."""
        lasting = [status for status in statuses if status.state in LASTING]
        over = [status for status in statuses if status.state in FINAL - LASTING]
        moving = [status for status in statuses if status.state not in FINAL]
        await self._write(lasting, "final", _FINAL_MS)
        await self._write(over, "final", _MOVING_MS)
        await self._write(moving, "moving", _MOVING_MS)

    async def get(self, run_id: UUID) -> bytes | None:
        """See `domain.ports.StatusCache`."""
        if elapsed_s() < self._rests_until:
            return None
        answer = self._asked.get(run_id)
        if answer is None:
            answer = self._asked[run_id] = asyncio.get_running_loop().create_future()
            if self._reader is None:
                self._reader = asyncio.create_task(self._read_all())
        return await asyncio.shield(answer)

    async def fault(self) -> str:
        """See `domain.ports.status.Probe`. Writes: one that only answers may be full."""
        try:
            await self._client.set(_PROBE, b"1", px=_MOVING_MS)
        except Exception as error:
            await self._rest(error)
            return f"{type(error).__name__}: {error}"
        self._contact.worked()
        return ""

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _write(self, statuses: list[RunStatus], mode: str, keep_ms: int) -> None:
        if not statuses or elapsed_s() < self._rests_until:
            return
        keys = [_key(status.id) for status in statuses]
        values = [msgspec.json.encode(status) for status in statuses]
        try:
            await self._put(keys=keys, args=[mode, keep_ms, *values])
        except Exception as error:
            await self._rest(error)
        else:
            self._contact.worked()

    async def _read_all(self) -> None:
        while self._asked:
            asked, self._asked = self._asked, {}
            statuses = await self._read(list(asked))
            for run_id, future in asked.items():
                if not future.done():
                    future.set_result(statuses.get(run_id))
        self._reader = None

    async def _read(self, run_ids: list[UUID]) -> dict[UUID, bytes]:
        """Return the statuses that are there. Never raises."""
        try:
            values = await self._client.mget([_key(run_id) for run_id in run_ids])
            pairs = zip(run_ids, values, strict=True)
            return {run_id: value for run_id, value in pairs if _is_status(value, run_id)}
        except Exception as error:
            await self._rest(error)
            return {}

    async def _rest(self, error: Exception) -> None:
        """Take it for away, whatever it said.

        The connections are given up: after an answer that can't be read, the next bytes on one may
        belong to another question.
        """
        self._rests_until = elapsed_s() + REST_S
        self._contact.failed(f"{type(error).__name__}: {error}")
        with suppress(Exception):
            await self._client.connection_pool.disconnect()


def _is_status(value: object, run_id: UUID) -> bool:
    """Return whether an answer is the status of that run; anybody may write into Valkey."""
    if not isinstance(value, bytes):
        return False
    try:
        return msgspec.json.decode(value, type=RunStatus).id == run_id
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False


def _key(run_id: UUID) -> bytes:
    return b"matins:run:" + run_id.hex.encode()
