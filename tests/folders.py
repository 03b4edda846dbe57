"""Where the servers of tests keep their files: in memory, if there is room.

A database of a test's own is 400 small files, which a disk makes in 300 ms and memory in 12. What
the tests do to servers is done to processes, so that no test is easier for it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from matins.kernel.settings import read_settings

POSTGRES_PROGRAMS = read_settings().postgres_programs
"""The PostgreSQL that the tests run on, by MATINS_POSTGRES_PROGRAMS; without it the wheel's."""

_IN_MEMORY = Path("/dev/shm")  # mkdtemp makes it safe
_ROOM = 4 * 2**30


def make_folder(prefix: str, mode: int = 0o755) -> Path:
    """Make an empty folder with a short path, which the servers' own account can pass."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=_IN_MEMORY if _has_room() else None))
    folder.chmod(mode)
    return folder


def _has_room() -> bool:
    """Return whether memory takes files as a disk would, programs among them."""
    if not _IN_MEMORY.is_dir() or not os.access(_IN_MEMORY, os.W_OK):
        return False
    programs_run = not os.statvfs(_IN_MEMORY).f_flag & os.ST_NOEXEC
    return programs_run and shutil.disk_usage(_IN_MEMORY).free > _ROOM
