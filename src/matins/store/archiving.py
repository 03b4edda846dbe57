"""The archive of runs: compressed NDJSON, a file for each day (UTC) of due times."""

from __future__ import annotations

import asyncio
import gzip
import os
from collections.abc import Sequence
from datetime import date
from pathlib import Path


class FileArchive:
    """A folder of files such as `runs-2026-08-31.ndjson.gz`. See `domain.ports.upkeep.Archive`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def add(self, day: date, lines: Sequence[str]) -> None:
        """Append lines to the file of a day. See `domain.ports.upkeep.Archive`."""
        if lines:
            await asyncio.to_thread(self._add, day, lines)

    def _add(self, day: date, lines: Sequence[str]) -> None:
        # A gzip file may consist of several members, so nothing that was written is touched again.
        member = gzip.compress("".join(f"{line}\n" for line in lines).encode())
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / f"runs-{day:%Y-%m-%d}.ndjson.gz").open("ab") as file:
            file.write(member)
            file.flush()
            os.fsync(file.fileno())
