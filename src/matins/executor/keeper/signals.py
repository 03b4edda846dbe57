"""Signals as something to be waited for, in processes that no signal but SIGKILL is to end."""

from __future__ import annotations

import contextlib
import os
import signal
from types import FrameType


def outlive_signals() -> None:
    """Let no signal that ends an executor end its keeper: that ends when its executor has.

    Handlers rather than SIG_IGN, because commands would inherit that.
    """
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, _note)


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
