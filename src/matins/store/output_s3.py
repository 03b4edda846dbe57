"""Whole outputs in a bucket of S3, or of what speaks like it. See `domain.ports.output`.

An object for each chunk, `<day>/<run>/<attempt>/<offset>-<length>.z`, under the prefix that the
setting names. Where the bucket is, and by what credentials, say the usual variables (AWS_*), which
obstore reads by itself.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import date, timedelta
from typing import Final, NamedTuple
from uuid import UUID

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from matins.domain.runs.output import CHUNK_MAX, OutputChunk
from matins.domain.values.errors import SettingsError, UnavailableError
from matins.domain.values.ids import due_of
from matins.kernel.clock import elapsed_s
from matins.store.packed import pack, unpack

ASK_S: Final = 5.0
"""The longest that one message's chunks, or one part of a text, may take."""

REST_S: Final = 3.0
"""For how long nothing is asked of a bucket that has just failed."""

PROBE_S: Final = 2.0
"""The longest that it may take to find out whether the bucket can be used."""

TRUSTED_S: Final = 60.0
"""How long a bucket that was used just now counts as one that can be used."""

_AT_ONCE: Final = 16
_PAGE: Final = 1000  # what one request lists, and what one deletes
_CONNECT: Final = timedelta(seconds=3)
_CODE = re.compile(r"<Code>(\w+)</Code>")


class _Chunk(NamedTuple):
    offset: int
    length: int
    path: str


class S3KeptOutput:
    """Objects that are written once. Nothing waits longer than it says above, whatever the bucket
    does.
    """

    def __init__(self, bucket: str, prefix: str) -> None:
        """Raise SettingsError where the variables can't be read."""
        try:
            self._store = S3Store(
                bucket,
                prefix=prefix or None,
                client_options={  # who names an endpoint without TLS wants it so
                    "allow_http": True,
                    "connect_timeout": _CONNECT,
                    "timeout": timedelta(seconds=ASK_S),
                },
                retry_config={"max_retries": 2, "retry_timeout": timedelta(seconds=ASK_S)},
            )
        except BaseError as error:
            raise SettingsError(f"MATINS_OUTPUT_STORE: {_reason(error)}") from None
        self._requests = asyncio.Semaphore(_AT_ONCE)
        self._worked_s = -TRUSTED_S
        self._rests_until_s = 0.0
        self._failure = ""

    async def append(self, chunks: Sequence[OutputChunk]) -> None:
        """See `domain.ports.output.KeptOutput`."""
        packed = await asyncio.to_thread(lambda: [pack(chunk.text) for chunk in chunks])
        async with self._asked("written"):
            await asyncio.gather(*map(self._put, map(_path, chunks), packed))

    async def length(self, run_id: UUID, number: int) -> int:
        """See `domain.ports.output.KeptOutput`."""
        async with self._asked("read"):
            chunks = [chunk async for chunk in self._chunks(run_id, number, 0)]
        return max((chunk.offset + chunk.length for chunk in chunks), default=0)

    async def read(self, run_id: UUID, number: int, start: int, end: int) -> str:
        """See `domain.ports.output.KeptOutput`."""
        wanted: list[_Chunk] = []
        async with self._asked("read"):
            async for chunk in self._chunks(run_id, number, start):
                if chunk.offset >= end:
                    break
                wanted.append(chunk)
            packed = await asyncio.gather(*(self._get(chunk.path) for chunk in wanted))
        pieces = [(chunk.offset, piece) for chunk, piece in zip(wanted, packed, strict=True)]
        return await asyncio.to_thread(unpack, pieces, start, end)

    async def fault(self) -> str:
        """See `domain.ports.status.Probe`. Writes and lists, unless it worked lately."""
        if not self._failure and elapsed_s() - self._worked_s < TRUSTED_S:
            return ""
        self._rests_until_s = 0.0
        try:
            async with self._asked("used", PROBE_S):
                await self._put("probe", b"")
                async for _ in obstore.list(self._store, "probe"):
                    pass
        except UnavailableError as error:
            return str(error)
        return ""

    async def forget(self, run_ids: Collection[UUID]) -> None:
        """See `domain.ports.output.OutsideOutput`."""
        await asyncio.gather(*(self._delete(_folder(run_id)) for run_id in run_ids))

    async def forget_day(self, day: date) -> None:
        """See `domain.ports.output.OutsideOutput`."""
        await self._delete(day.isoformat())

    async def _put(self, path: str, packed: bytes) -> None:
        async with self._requests:
            await obstore.put_async(self._store, path, packed, use_multipart=False)

    async def _get(self, path: str) -> bytes:
        async with self._requests:
            answer = await obstore.get_async(self._store, path)
            return bytes(await answer.bytes_async())

    async def _chunks(self, run_id: UUID, number: int, start: int) -> AsyncIterator[_Chunk]:
        """Give what is there of an attempt, in order, from the chunk on that may hold `start`."""
        folder = f"{_folder(run_id)}/{number}"
        after = f"{folder}/{max(start - CHUNK_MAX + 1, 0):012}"
        async for page in obstore.list(self._store, folder, offset=after, chunk_size=_PAGE):
            for found in page:
                offset, length = found["path"].rpartition("/")[2].removesuffix(".z").split("-")
                if int(offset) + int(length) > start:
                    yield _Chunk(int(offset), int(length), found["path"])

    async def _delete(self, folder: str) -> None:
        """Delete all that is in a folder, a page in each of the times that are allowed."""
        pages = obstore.list(self._store, folder, chunk_size=_PAGE)
        while True:
            async with self._requests, self._asked("purged"):
                page = await anext(pages, None)
                if page is None:
                    return
                await obstore.delete_async(self._store, [found["path"] for found in page])

    @asynccontextmanager
    async def _asked(self, what: str, within_s: float | None = None) -> AsyncIterator[None]:
        """Bound what is asked of the bucket, and note whether it was done."""
        within_s = within_s or ASK_S
        if elapsed_s() < self._rests_until_s:
            raise UnavailableError(self._failure)
        try:
            async with asyncio.timeout(within_s):
                yield
        except TimeoutError:
            reason = f"no answer within {within_s:g} s"
        except (BaseError, OSError) as error:
            reason = _reason(error)
        else:
            self._worked_s, self._failure = elapsed_s(), ""
            return
        self._failure = f"the bucket of outputs can't be {what}: {reason}"
        self._rests_until_s = elapsed_s() + REST_S
        raise UnavailableError(self._failure)


def _folder(run_id: UUID) -> str:
    return f"{due_of(run_id).date().isoformat()}/{run_id.hex}"


def _path(chunk: OutputChunk) -> str:
    name = f"{chunk.offset:012}-{len(chunk.text)}.z"  # so that they are listed in order
    return f"{_folder(chunk.run_id)}/{chunk.number}/{name}"


def _reason(error: Exception) -> str:
    """Return what went wrong in a line. What a server answers to a wrong signature has in it what
    was signed, so only its code is taken.
    """
    text = str(error)
    if code := _CODE.search(text):
        return code[1]
    return text.partition("\n")[0].partition(" - Server returned")[0][:300]
