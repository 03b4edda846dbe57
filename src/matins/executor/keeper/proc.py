"""What the operating system tells of processes, and how they are held, hidden and killed.

Linux in full; elsewhere there is neither an adoption of orphans nor anything to hide, and the
process group is all that is held. Imports the standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Collection
from pathlib import Path

IS_LINUX = sys.platform == "linux"

PROC = Path("/proc")
_SET_DUMPABLE, _SET_CHILD_SUBREAPER = 4, 36  # prctl(2)
_STATE, _PPID, _FLAGS = 0, 1, 6  # proc_pid_stat(5), counted from the state on
_EXITING = 0x4  # among the flags: it runs nothing of its program any more

# PyDLL: no other thread needs the interpreter meanwhile, and after a clone there is none.
LIBC = ctypes.PyDLL(None, use_errno=True) if IS_LINUX else None


def adopt_orphans() -> None:
    """Become the parent of all orphaned descendants, so that none gets away."""
    if LIBC:
        LIBC.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def hide(*, hidden: bool = True) -> None:
    """Keep memory, environment and descriptors from others of the same account.

    Who has CAP_SYS_PTRACE, as root usually has, can read them all the same.
    """
    if LIBC:
        LIBC.prctl(_SET_DUMPABLE, int(not hidden), 0, 0, 0)


def children() -> list[int]:
    """This process's children, zombies included; on Linux only."""
    if not IS_LINUX:
        return []
    me = os.getpid()
    try:
        return [int(pid) for pid in Path(f"/proc/self/task/{me}/children").read_text().split()]
    except FileNotFoundError:  # a kernel without CONFIGPROC_CHILDREN
        return [pid for pid in all_pids() if (stat := _stat(pid)) and int(stat[_PPID]) == me]


def stop_below(kept: Collection[int] = ()) -> list[int]:
    """Stop all that descends from this process, but for `kept` and what descends from those; gives
    the pids. What is stopped forks no more, so this comes to an end where killing might not.
    """
    stopped: dict[int, None] = {}
    while True:
        below = [pid for pid in children() if pid not in kept]
        for pid in below:  # grows while it is walked
            below += _children_of(pid)
        fresh = [pid for pid in below if pid not in stopped]
        for pid in fresh:
            _signal(pid, signal.SIGSTOP)
        if not fresh:
            return list(stopped)
        stopped |= dict.fromkeys(fresh)


def all_pids() -> list[int]:
    """Return all processes that can be seen; on Linux only."""
    return [int(entry.name) for entry in PROC.glob("[0-9]*")] if IS_LINUX else []


def name_of(pid: int) -> str | None:
    """Return the name of a process's program, or None if it has ended, or is about to by itself.

    A process closes its output shortly before the kernel calls it a zombie.
    """
    stat = _stat(pid)
    if not stat or stat[_STATE] in (b"Z", b"X") or int(stat[_FLAGS]) & _EXITING:
        return None
    try:
        return (PROC / str(pid) / "comm").read_text(errors="replace").strip()
    except OSError:
        return None


def kill_marked(mark_sets: list[set[bytes]]) -> int:
    """Kill each process whose environment holds all marks of one set; return how many there were.

    An empty set matches no process.
    """
    count = 0
    for pid in all_pids():
        environment = _environment(pid)
        if any(marks and marks <= environment for marks in mark_sets):
            kill(pid)
            count += 1
    return count


def kill(pid: int) -> None:
    """Send SIGKILL; whoever is gone or not ours to kill is left alone."""
    _signal(pid, signal.SIGKILL)


def kill_all() -> None:
    """Kill all but this process that this one may: in its namespaces, or of its account."""
    _signal(-1, signal.SIGKILL)


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _children_of(pid: int) -> list[int]:
    pids: list[int] = []
    for file in PROC.glob(f"{pid}/task/*/children"):
        with contextlib.suppress(OSError):
            pids += map(int, file.read_text().split())
    return pids


def be_sacrificed_first() -> None:
    """Make this process, and what it starts, likelier to end than others when memory runs out."""
    with contextlib.suppress(OSError, ValueError):
        file = PROC / "self" / "oom_score_adj"
        file.write_text(str(min(int(file.read_text()) + 500, 1000)))


def out_of_memory_count() -> int:
    """Return how many processes the kernel has ended for want of memory since boot; 0 if it
    can't tell.
    """
    try:
        text = (PROC / "vmstat").read_bytes()
    except OSError:
        return 0
    _, _, count = text.partition(b"\noom_kill ")
    return int(count.split(b"\n", 1)[0] or 0)


def _environment(pid: int) -> set[bytes]:
    """Return the `NAME=value` pairs with which a process was started; empty if they can't be
    read.
    """
    try:
        return set((PROC / str(pid) / "environ").read_bytes().split(b"\0"))
    except OSError:
        return set()


def _stat(pid: int) -> list[bytes]:
    """Return what the kernel tells of a process, from its state on; empty if it is gone."""
    try:
        line = (PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return []
    return line[line.rindex(b")") + 2 :].split()
