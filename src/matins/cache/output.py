"""Live output in Valkey: only what may be lost at any moment. See `domain.ports.output`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from uuid import UUID

import msgspec
import structlog
from valkey.asyncio.client import PubSub

from matins.cache.connecting import DEADLINE_S, REST_S, connect
from matins.domain.runs.output import LIVE_MAX, LiveChunk, LiveText, joined
from matins.kernel.clock import elapsed_s
from matins.kernel.contact import Contact
from matins.kernel.followers import Followers

log = structlog.get_logger()

WAITING_MAX = 64
"""For how many chunks a reader may be late: with four in a second, a quarter of a minute."""

_HELD_MS = 6 * 3_600_000
_HELD_AFTER_MS = 60_000
_IDLE_S = 10.0
_AT_ONCE = 8
_LISTENING = b"matins:live"

# Each attempt has a list of its chunks, and beside it how long they are together: what is too much
# goes at the front. Those who follow get the chunk itself.
_APPEND = """
for i = 1, #KEYS do
  local key, chunk, ttl = KEYS[i], ARGV[2 * i], ARGV[2 * i + 1]
  local size = redis.call('INCRBY', key .. ':size', #chunk)
  redis.call('RPUSH', key, chunk)
  while size > tonumber(ARGV[1]) do
    size = redis.call('DECRBY', key .. ':size', #redis.call('LPOP', key))
  end
  redis.call('PEXPIRE', key, ttl)
  redis.call('PEXPIRE', key .. ':size', ttl)
  redis.call('PUBLISH', key, chunk)
end
"""


class ValkeyLiveOutput:
    """Chunks in lists that expire, passed on by publishing.

    One connection subscribes for all who follow at this process. After any error it rests for a
    moment, so that a Valkey that is away costs nothing.
    """

    def __init__(self, url: str, waiting_max: int = WAITING_MAX) -> None:
        self._client = connect(url)
        self._append = self._client.register_script(_APPEND)
        self._rests_until = 0.0
        self._calling = Contact(elapsed_s, "live_output.away", "live_output.found")
        self._listening = Contact(elapsed_s, "live_output.unheard", "live_output.heard")
        self._calls = asyncio.Semaphore(_AT_ONCE)  # below the number of connections
        self._followers: Followers[bytes, LiveChunk] = Followers(waiting_max)
        self._subscribed: dict[bytes, asyncio.Event] = {}
        self._subscription: PubSub | None = None
        self._listener: asyncio.Task[None] | None = None

    def is_away(self) -> bool:
        """See `domain.ports.output.LiveOutput`."""
        return elapsed_s() < self._rests_until or (
            self._listener is not None and self._subscription is None
        )

    async def append(self, chunks: Sequence[LiveChunk]) -> None:
        """See `domain.ports.output.LiveOutput`."""
        if not chunks or elapsed_s() < self._rests_until:
            return
        keys = [_key(chunk.run_id, chunk.number) for chunk in chunks]
        args: list[bytes | int] = [LIVE_MAX]
        for chunk in chunks:
            args += [msgspec.msgpack.encode(chunk), _HELD_AFTER_MS if chunk.is_last else _HELD_MS]
        try:
            async with self._calls:
                await self._append(keys=keys, args=args)
        except Exception as error:
            self._rest(error)
        else:
            self._calling.worked()

    async def so_far(self, run_id: UUID, number: int) -> LiveText:
        """See `domain.ports.output.LiveOutput`."""
        if elapsed_s() < self._rests_until:
            return LiveText()
        try:
            async with self._calls:
                key = _key(run_id, number)
                found = await self._client.lrange(key, 0, -1)  # type: ignore[misc, arg-type] # typed for text
        except Exception as error:
            self._rest(error)
            return LiveText()
        chunks = [_read(raw) for raw in found]
        return joined([c for c in chunks if c and (c.run_id, c.number) == (run_id, number)])

    @asynccontextmanager
    async def follow(self, run_id: UUID, number: int) -> AsyncIterator[AsyncIterator[LiveChunk]]:
        """See `domain.ports.output.LiveOutput`."""
        key = _key(run_id, number)
        with self._followers.follow(key) as chunks:
            await self._subscribe(key)
            yield chunks
        await self._unsubscribe(key)

    async def close(self) -> None:
        """Close the connections."""
        if self._listener is not None:
            self._listener.cancel()
            await asyncio.gather(self._listener, return_exceptions=True)
        await self._client.aclose()

    async def _subscribe(self, key: bytes) -> None:
        """Have the chunks sent here, and wait for a moment until they are."""
        if key not in self._subscribed:
            self._subscribed[key] = asyncio.Event()
            await self._send("subscribe", key)
        if self._listener is None or self._listener.done():
            self._listener = asyncio.create_task(self._listen(), name="live output")
        with suppress(TimeoutError):
            async with asyncio.timeout(2 * DEADLINE_S):
                await self._subscribed[key].wait()

    async def _unsubscribe(self, key: bytes) -> None:
        if key in self._subscribed and key not in self._followers.followed():
            del self._subscribed[key]
            await self._send("unsubscribe", key)

    async def _send(self, word: str, key: bytes) -> None:
        """Change the subscription; while there is none, the next begins with all that is
        followed.
        """
        if self._subscription is not None:
            with suppress(Exception):  # the listener sees it, too
                await getattr(self._subscription, word)(key)

    async def _listen(self) -> None:
        """Pass on what is published, over as many connections as it takes, until cancelled."""
        while True:
            try:
                await self._listen_once()
            except Exception as error:
                self._listening.failed(f"{type(error).__name__}: {error}")
            for event in self._subscribed.values():
                event.clear()
            await asyncio.sleep(REST_S)

    async def _listen_once(self) -> None:
        """Listen on one connection until it fails: it must not be mended behind our back, for
        who subscribes meanwhile would be forgotten.
        """
        subscription = self._client.pubsub()
        begun = set(self._subscribed)
        try:
            await subscription.subscribe(_LISTENING, *begun)
            self._subscription = subscription
            self._listening.worked()
            for key in self._subscribed.keys() - begun:  # those that came meanwhile
                await subscription.subscribe(key)
            is_asked = False
            while True:
                message = await subscription.get_message(timeout=_IDLE_S)
                if message:
                    self._hear(message["type"], message["channel"], message["data"])
                elif is_asked:
                    raise ConnectionError(f"no answer for {_IDLE_S:g} s")
                else:
                    await subscription.ping()
                is_asked = message is None
        finally:
            self._subscription = None
            with suppress(Exception):
                await subscription.aclose()  # type: ignore[no-untyped-call]

    def _hear(self, kind: str, key: bytes, data: object) -> None:
        if kind == "subscribe" and key in self._subscribed:
            self._subscribed[key].set()
        elif kind == "message" and isinstance(data, bytes):
            chunk = _read(data)
            if chunk and _key(chunk.run_id, chunk.number) == key:
                self._followers.pass_on(key, chunk)

    def _rest(self, error: Exception) -> None:
        self._rests_until = elapsed_s() + REST_S
        self._calling.failed(f"{type(error).__name__}: {error}")


def _read(raw: bytes) -> LiveChunk | None:
    """Return what somebody has written; anybody may write into Valkey."""
    try:
        return msgspec.msgpack.decode(raw, type=LiveChunk)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _key(run_id: UUID, number: int) -> bytes:
    return b"matins:live:%b:%d" % (run_id.hex.encode(), number)
