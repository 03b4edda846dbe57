"""One process of an ordinary account tries to read another of the same, which hides at last."""

from __future__ import annotations

import os
import signal

from matins.executor.keeper.proc import hide


def read(pid: int) -> str:
    """Return what of a process can be read."""
    found = [what for what in ("environ", "maps") if _opens(f"/proc/{pid}/{what}")]
    found += ["fd"] if _lists(f"/proc/{pid}/fd") else []
    return " ".join(found) or "nothing"


def _opens(path: str) -> bool:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            file.read(1)
    except PermissionError:
        return False
    return True


def _lists(path: str) -> bool:
    try:
        os.listdir(path)  # noqa: PTH208
    except PermissionError:
        return False
    return True


def main() -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    for hidden in (False, True):
        hide(hidden=hidden)
        ready, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.write(write, b"x")
            signal.pause()
        os.read(ready, 1)
        print("hidden:" if hidden else "open:", read(pid))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


main()
