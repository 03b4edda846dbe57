"""The folder of a server's socket: private, made anew at each start, with a path short enough.

The address of a socket holds 104 bytes on macOS and 108 on Linux (sun_path in unix(4), unix(7)), so
a deep data folder gets its sockets in a folder below the temporary one, to which `run` then points.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

from matins.domain.values.errors import EngineError
from matins.engines.accounts import Account

PATH_MAX = 103
"""Bytes of a socket's path, without the closing NUL."""
NAME_MAX = 20
"""Bytes that the name of a socket may have within the folder."""

# Commas separate hosts in a DSN and folders in postgresql.conf; quotes would need care in both.
_PLAIN = re.compile(r"[\w/.~+@-]+", re.ASCII)


def make_socket_folder(folder: Path, account: Account | None) -> Path:
    """Make the socket folder of the server whose folder this is, empty and owned by its account."""
    remove_socket_folder(folder, account)
    made = folder / "run"
    if fits(made):
        made.mkdir(mode=0o700)
    else:
        made = _make_elsewhere()
        (folder / "run").symlink_to(made)
    if account is not None:
        os.chown(made, account.uid, account.gid)
    return made


def remove_socket_folder(folder: Path, account: Account | None) -> None:
    """Remove what `make_socket_folder` made; no more than the link if its target isn't ours now."""
    link = folder / "run"
    if link.is_symlink():
        target = link.readlink()
        owners = {os.geteuid()} if account is None else {os.geteuid(), account.uid}
        if target.is_dir() and not target.is_symlink() and target.stat().st_uid in owners:
            shutil.rmtree(target, ignore_errors=True)
        link.unlink()
    elif link.exists():
        shutil.rmtree(link)


def fits(folder: Path) -> bool:
    """Return whether sockets in the folder have a path that every part of the chain can take."""
    short = len(os.fsencode(folder)) + 1 + NAME_MAX <= PATH_MAX
    return short and _PLAIN.fullmatch(str(folder)) is not None


def _make_elsewhere() -> Path:
    bases = [tempfile.gettempdir(), "/tmp"]  # noqa: S108 # mkdtemp makes it safe
    if os.geteuid() != 0 and "XDG_RUNTIME_DIR" in os.environ:
        bases.insert(0, os.environ["XDG_RUNTIME_DIR"])
    for base in bases:
        if fits(Path(base, "matins-12345678")) and os.access(base, os.W_OK | os.X_OK):
            return Path(tempfile.mkdtemp(prefix="matins-", dir=base)).resolve()
    raise EngineError(f"no folder for sockets is short enough: tried {', '.join(bases)}")
