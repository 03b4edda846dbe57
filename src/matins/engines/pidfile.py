"""Reading PostgreSQL's `postmaster.pid`: who holds the cluster, and whether it is ready.

The lines of the file are told in PostgreSQL's src/include/utils/pidfile.h: 1 the pid, 8 the status.
"""

from __future__ import annotations

from pathlib import Path

from matins.engines.accounts import Account
from matins.engines.folders import write_private

NO_PID = 2**31 - 1
"""A process id that no system gives out: Linux ends at 2**22, macOS at 99,998."""


def running_pid(cluster: Path) -> int | None:
    """Tell the pid that the file names; None without a file that can be read."""
    lines = _lines(cluster)
    return int(lines[0]) if lines and lines[0].isdecimal() else None


def is_ready(cluster: Path, pid: int) -> bool:
    """Return whether the postmaster of that pid takes connections."""
    lines = _lines(cluster)
    return len(lines) >= 8 and lines[0] == str(pid) and lines[7].strip() == "ready"


def disarm_alien_pid(cluster: Path, account: Account | None) -> None:
    """Let a stale file name a pid that nobody has, for its number may be another process's now.

    PostgreSQL would refuse to start for it. The file itself stays: its line 7 names the shared
    memory by which PostgreSQL sees that backends of a killed postmaster still live. Call it only
    when the file's postmaster is known to be gone.
    """
    lines = _lines(cluster)
    if lines:
        write_private(
            cluster / "postmaster.pid", "\n".join([str(NO_PID), *lines[1:], ""]), account=account
        )
    elif (cluster / "postmaster.pid").exists():
        (cluster / "postmaster.pid").unlink()


def _lines(cluster: Path) -> list[str]:
    try:
        return (cluster / "postmaster.pid").read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return []
