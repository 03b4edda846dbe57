"""What the operating system tells of processes, and how they are held and killed.

Linux in full; elsewhere there is neither an adoption of orphans nor a death with the parent, and
the process group is all that is held.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from pathlib import Path

IS_LINUX = sys.platform == "linux"

_PROC = Path("/proc")
_SET_PDEATHSIG = 1  # prctl(2)
_SET_CHILD_SUBREAPER = 36
_PPID, _PGRP, _STARTED = 1, 2, 19  # proc_pid_stat(5), counted from the state on

# Loaded before the first fork: nothing is to be loaded between fork and exec.
_LIBC = ctypes.CDLL(None) if IS_LINUX else None


def adopt_orphans() -> None:
    """Become the parent of all orphaned descendants, so that none gets away."""
    if _LIBC:
        _LIBC.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent(parent: int) -> None:
    """Have this process killed when its parent ends; at once if `parent` is gone already.

    The signal is tied to the thread that forked: the keeper has only one, which ends with it.
    """
    if _LIBC:
        _LIBC.prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def children() -> list[int]:
    """This process's children, zombies included; on Linux only."""
    if not IS_LINUX:
        return []
    me = os.getpid()
    try:
        return [int(pid) for pid in Path(f"/proc/self/task/{me}/children").read_text().split()]
    except FileNotFoundError:  # a kernel without CONFIG_PROC_CHILDREN
        return [pid for pid in all_pids() if _stat(pid, _PPID) == me]


def all_pids() -> list[int]:
    """All processes that can be seen; on Linux only."""
    return [int(entry.name) for entry in _PROC.glob("[0-9]*")] if IS_LINUX else []


def group_of(pid: int) -> int | None:
    """A process's group, or None if it is gone."""
    return _stat(pid, _PGRP)


def started_at(pid: int) -> int | None:
    """When a process was forked, in clock ticks since boot, or None if it is gone."""
    return _stat(pid, _STARTED)


def environment(pid: int) -> set[bytes]:
    """The `NAME=value` pairs with which a process was started; empty if they can't be read."""
    try:
        return set((_PROC / str(pid) / "environ").read_bytes().split(b"\0"))
    except OSError:
        return set()


def kill_marked(families: list[set[bytes]]) -> int:
    """Kill each process whose environment holds all marks of a family; gives how many there were.

    A family without marks has no members.
    """
    found = 0
    for pid in all_pids():
        given = environment(pid)
        if any(marks and marks <= given for marks in families):
            kill(pid)
            found += 1
    return found


def kill(pid: int) -> None:
    """Send SIGKILL; whoever is gone or not ours to kill is left alone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def is_group_alive(group: int) -> bool:
    """Whether a process group has members, zombies included."""
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):  # macOS: the latter for zombies
        return False
    return True


def _stat(pid: int, field: int) -> int | None:
    try:
        line = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    return int(line[line.rindex(b")") + 2 :].split()[field])
