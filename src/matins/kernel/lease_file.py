"""The file in which a scheduler keeps the name of its lease and how far it has come, locked for as
long as it lives.
"""

from __future__ import annotations

import fcntl
import os
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self
from uuid import UUID

import structlog

from matins.domain.runs.restores import Seen
from matins.domain.values.errors import SettingsError

log = structlog.get_logger()

_LENGTH = 36
_SEEN_LENGTH = 80


class LeaseFile:
    """Whoever gets its lock has seen the process end that had it before: the kernel drops the lock
    then, and not earlier. So what that one held can be freed at once.
    """

    def __init__(self, path: Path | None) -> None:
        """Without a path nothing is kept, and nobody has a predecessor."""
        self.predecessor: UUID | None = None
        """The holder that was noted last; None if there was none."""
        self._seen: Seen | None = None
        self._path = path
        self._descriptor = -1

    def __enter__(self) -> Self:
        """Take the lock. Raises SettingsError when a living process has it, or it can't be used."""
        if self._path is None:
            return self
        try:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._descriptor)
            raise SettingsError(
                f"MATINS_LEASE_FILE={self._path} is in use by a scheduler that runs: give each"
                " scheduler a file of its own"
            ) from None
        except OSError as error:
            raise SettingsError(
                f"MATINS_LEASE_FILE={self._path} can't be opened: {error.strerror}"
            ) from error
        self.predecessor = _read(os.pread(self._descriptor, _LENGTH, 0))
        self._seen = _read_seen(os.pread(self._descriptor, _SEEN_LENGTH, _LENGTH))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._path is not None:
            os.close(self._descriptor)

    def note(self, holder: UUID) -> UUID:
        """Keep the name under which leases are held from now on; return it."""
        if self._path is not None:
            os.pwrite(self._descriptor, str(holder).encode(), 0)
        return holder

    @property
    def last_seen(self) -> Seen | None:
        """See `domain.ports.restores.SeenNotes`."""
        return self._seen

    def note_seen(self, seen: Seen) -> None:
        """See `domain.ports.restores.SeenNotes`. One write in one block, of one length always."""
        self._seen = seen
        if self._path is None:
            return
        text = f"\n{seen.watermark.isoformat()} {seen.until.isoformat()}".ljust(_SEEN_LENGTH - 1)
        try:
            os.pwrite(self._descriptor, f"{text}\n".encode(), _LENGTH)
        except OSError as error:
            log.warning("lease_file.not_written", error=str(error))


def _read_seen(text: bytes) -> Seen | None:
    """What can't be read tells of no restore."""
    if not text.strip():
        return None
    try:
        watermark, until = map(datetime.fromisoformat, text.decode("ascii").split())
        return Seen(watermark, until)
    except ValueError:
        log.warning("lease_file.damaged", text=text)
        return None


def _read(text: bytes) -> UUID | None:
    """What can't be read names nobody: the leases run out by themselves."""
    try:
        return UUID(text.decode("ascii")) if text else None
    except ValueError:
        log.warning("lease_file.damaged", text=text)
        return None
