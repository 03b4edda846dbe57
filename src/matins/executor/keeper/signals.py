"""Signals as something to be waited for, in processes that no signal but SIGKILL is to end."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import signal
from types import FrameType

from matins.executor.keeper.proc import LIBC

_LIBC_OWN = (32, 33)
"""What the C library keeps for its threads, and lets no program set but past it."""
_SIGACTION = {"x86_64": 13, "aarch64": 134, "riscv64": 134}.get(platform.machine())
_KERNEL_SET_BYTES = 8  # of a signal set in rt_sigaction(2)


def outlive_signals() -> None:
    """Let no signal that ends an executor end its keeper: that ends when its executor has.

    Handlers rather than SIG_IGN, because commands would inherit that.
    """
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, _note)


def react_by_default() -> None:
    """Ignore and block nothing: commands would inherit that from whoever started the executor.

    `make`, for one, starts its children with signals 32 and 33 ignored, as posix_spawn(3) does it.
    SIGPIPE and SIGXFSZ are ignored by Python itself, and restored by Popen.
    """
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    if LIBC and _SIGACTION:
        by_default = ctypes.create_string_buffer(32)  # struct sigaction: SIG_DFL, and nothing else
        for reserved in _LIBC_OWN:
            LIBC.syscall(_SIGACTION, reserved, by_default, None, _KERNEL_SET_BYTES)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def wake_on_children() -> int:
    """Make the end of children readable; gives the descriptor."""
    read, write = os.pipe()
    os.set_blocking(read, False)
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _note)
    return read


def drain(signals: int) -> None:
    """Read the wake-ups of `wake_on_children`."""
    with contextlib.suppress(BlockingIOError):
        os.read(signals, 4096)


def _note(_number: int, _frame: FrameType | None) -> None:
    """Nothing to do: at most the wake-up through the pipe is needed."""
