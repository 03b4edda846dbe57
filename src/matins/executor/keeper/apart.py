"""Namespaces: a command sees and signals its own processes only, where the kernel grants that.

In a PID namespace of its own, with a /proc that shows nothing else, a command finds neither its
executor nor other commands, and ends whole with its first process, whatever it has forked. Root may
make one; others may in a user namespace, in which programs that take root's rights (sudo) get none.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
from pathlib import Path

from matins.executor.keeper.proc import LIBC, hide

_NEW_MOUNTS, _NEW_IPC = 0x00020000, 0x08000000  # clone(2)
_NEW_USER, _NEW_PIDS = 0x10000000, 0x20000000
_CLONE = {"x86_64": 56, "aarch64": 220, "riscv64": 220}.get(platform.machine())
_NOSUID, _NODEV, _NOEXEC, _RECURSIVE, _SLAVE = 2, 4, 8, 1 << 14, 1 << 19  # mount(2)
_DETACH = 2  # umount(2)


def can_fork_apart() -> bool:
    """Try whether a process may have namespaces of its own here."""
    if LIBC is None or _CLONE is None:
        return False
    try:
        pid = fork_apart()
    except OSError:
        return False
    return os.waitpid(pid, 0)[1] == 0 if pid else os._exit(0)


def fork_apart() -> int:
    """Fork into new namespaces; the child, their first process, ends if they are not complete.

    os.fork can't do it: who has unshared a PID namespace once can't do so again. Raises OSError.
    """
    assert LIBC is not None
    assert _CLONE is not None
    user, group = os.geteuid(), os.getegid()
    flags = _NEW_PIDS | _NEW_MOUNTS | _NEW_IPC | (_NEW_USER if user else 0)
    pid: int = LIBC.syscall(_CLONE, flags | signal.SIGCHLD, 0, 0, 0, 0)
    if pid < 0:
        _raise("no namespace")
    if pid == 0:
        try:
            if user:
                _keep_account(user, group)
            _see_own_processes(for_root=not user)
        except BaseException:  # whatever it is, a child must not return as another
            os._exit(1)
    return pid


def _keep_account(user: int, group: int) -> None:
    """Be the same user and group inside as outside; none else exists inside."""
    hide(hidden=False)  # or these files are root's
    for file, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        Path("/proc/self", file).write_text(text)
    hide()


def _see_own_processes(*, for_root: bool) -> None:
    """Take the place of /proc. Root could remove what covers it, so for root it goes itself."""
    assert LIBC is not None
    if for_root:
        if LIBC.mount(None, b"/", None, _SLAVE | _RECURSIVE, None):  # or it went for all
            _raise("/")
        if LIBC.umount2(b"/proc", _DETACH):
            _raise("/proc")
    if LIBC.mount(b"proc", b"/proc", b"proc", _NOSUID | _NODEV | _NOEXEC, None):
        _raise("/proc")


def _raise(what: str) -> None:
    number = ctypes.get_errno()
    raise OSError(number, f"{what}: {os.strerror(number)}")
