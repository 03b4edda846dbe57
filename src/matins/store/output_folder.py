"""Whole outputs in a folder that all APIs and schedulers share. See `domain.ports.output`.

A folder for each day of due times, in it one for each attempt, and in that a file for each chunk,
named by its offset and its length in characters.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final
from uuid import UUID

from matins.domain.runs.output import OutputChunk
from matins.domain.values.errors import UnavailableError
from matins.domain.values.ids import due_of
from matins.store.packed import pack, unpack

PROBE_S: Final = 2.0
"""The longest that it may take to find out whether the folder can be written."""


class FolderKeptOutput:
    """Files that are written once, under another name until they are whole."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._probe: asyncio.Future[None] | None = None

    async def append(self, chunks: Sequence[OutputChunk]) -> None:
        """See `domain.ports.output.KeptOutput`."""
        with _told("written"):
            await asyncio.to_thread(self._write, chunks)

    async def length(self, run_id: UUID, number: int) -> int:
        """See `domain.ports.output.KeptOutput`."""
        with _told("read"):
            files = await asyncio.to_thread(self._files, run_id, number)
        return max((offset + length for offset, length, _ in files), default=0)

    async def read(self, run_id: UUID, number: int, start: int, end: int) -> str:
        """See `domain.ports.output.KeptOutput`."""
        with _told("read"):
            return await asyncio.to_thread(self._read, run_id, number, start, end)

    async def fault(self) -> str:
        """See `domain.ports.status.Probe`. Writes: a folder that is there may be full.

        A network file system that hangs holds one thread, however often it is asked.
        """
        if self._probe is None or self._probe.done():
            self._probe = asyncio.ensure_future(asyncio.to_thread(self._write_probe))
        try:
            with _told("written"):
                async with asyncio.timeout(PROBE_S):
                    await asyncio.shield(self._probe)
        except UnavailableError as error:
            return str(error)
        return ""

    async def forget(self, run_ids: Collection[UUID]) -> None:
        """See `domain.ports.output.OutsideOutput`."""
        with _told("purged"):
            await asyncio.to_thread(self._forget, run_ids)

    async def forget_day(self, day: date) -> None:
        """See `domain.ports.output.OutsideOutput`."""
        with _told("purged"):
            await asyncio.to_thread(_delete, self._folder / day.isoformat())

    def _place(self, run_id: UUID, number: int) -> Path:
        return self._folder / due_of(run_id).date().isoformat() / f"{run_id.hex}-{number}"

    def _write(self, chunks: Sequence[OutputChunk]) -> None:
        for chunk in chunks:
            place = self._place(chunk.run_id, chunk.number)
            place.mkdir(parents=True, exist_ok=True)
            with NamedTemporaryFile(dir=place, prefix="begun-", delete=False) as file:
                file.write(pack(chunk.text))
                file.flush()
                os.fsync(file.fileno())
            Path(file.name).replace(place / f"{chunk.offset}-{len(chunk.text)}.z")

    def _write_probe(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=self._folder, prefix="probe-") as file:
            file.write(b"1")
            file.flush()

    def _files(self, run_id: UUID, number: int) -> list[tuple[int, int, Path]]:
        """Return offset, length and path of each chunk, in order."""
        found = []
        for path in self._place(run_id, number).glob("[0-9]*-*.z"):
            offset, length = path.stem.split("-")
            found.append((int(offset), int(length), path))
        return sorted(found)

    def _read(self, run_id: UUID, number: int, start: int, end: int) -> str:
        wanted = [
            (offset, path.read_bytes())
            for offset, length, path in self._files(run_id, number)
            if offset < end and offset + length > start
        ]
        return unpack(wanted, start, end)

    def _forget(self, run_ids: Collection[UUID]) -> None:
        for run_id in run_ids:
            for place in self._place(run_id, 1).parent.glob(f"{run_id.hex}-*"):
                _delete(place)


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Raise UnavailableError for what the operating system says."""
    try:
        yield
    except OSError as error:
        reason = str(error) or f"no answer within {PROBE_S:g} s"
        raise UnavailableError(f"the folder of outputs can't be {what}: {reason}") from error


def _delete(place: Path) -> None:
    if place.exists():
        shutil.rmtree(place)
