"""The nursery: a small process that forks reapers, and never learns what they are to run.

It is forked before the keeper hears of any command, so that no command's process descends from one
that knows another's secrets. It answers each request in turn with the new reaper's pid.
"""

from __future__ import annotations

import gc
import os
import select
import socket

from matins.executor.keeper.apart import can_fork_apart, fork_apart
from matins.executor.keeper.frames import FORK, KILL, PID_BYTES, KeeperLimits, encode
from matins.executor.keeper.proc import adopt_orphans, children, hide, kill, stop_below
from matins.executor.keeper.reaper import Reaper
from matins.executor.keeper.signals import drain, wake_on_children

PATIENCE_S = 10.0
"""How long reapers have to clear up after the keeper's end before they are killed."""


class Nursery:
    """Forks reapers, and kills what they leave behind when they are killed themselves."""

    def __init__(self, keeper: socket.socket, limits: KeeperLimits) -> None:
        self._keeper = keeper
        self._processes = limits.processes
        self._apart = limits.apart and can_fork_apart()
        self._reapers: set[int] = set()
        self._signals = -1
        self._has_keeper = True

    def run(self) -> None:
        """Work until the keeper and all reapers are gone."""
        hide()
        adopt_orphans()
        # The collector would write to the pages shared with each reaper, which copies them.
        gc.freeze()
        gc.disable()
        self._signals = wake_on_children()
        self._keeper.sendall(encode({"id": 0, "apart": self._apart}))
        poll = select.poll()
        poll.register(self._signals, select.POLLIN)
        poll.register(self._keeper, select.POLLIN)
        while self._has_keeper or self._reapers or children():
            ready = poll.poll(None if self._has_keeper else PATIENCE_S * 1000)
            if not ready:
                self._end_all()
            for descriptor, _ in ready:
                if descriptor == self._signals:
                    drain(self._signals)
                    self._reap()
                elif not self._obey():
                    poll.unregister(self._keeper)
                    self._has_keeper = False

    def _obey(self) -> bool:
        try:
            word, descriptors, _, _ = socket.recv_fds(self._keeper, 1, 1)
        except ConnectionError:
            return False
        if word == FORK:
            self._fork(*descriptors)
        elif word == KILL:
            pid = int.from_bytes(self._keeper.recv(PID_BYTES), "big")
            if pid in self._reapers:
                kill(pid)
        return bool(word)

    def _fork(self, control: int) -> None:
        try:
            pid = fork_apart() if self._apart else os.fork()
        except OSError as error:
            answer: dict[str, object] = {"error": error.strerror}
        else:
            if pid == 0:
                self._keeper.close()
                os.close(self._signals)
                Reaper(control, self._processes, apart=self._apart).run()
            self._reapers.add(pid)
            answer = {"pid": pid}
        self._keeper.sendall(encode(answer))
        os.close(control)

    def _reap(self) -> None:
        """Take leave of what has ended; what a killed reaper left behind is ours, and is killed."""
        has_strays = False
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if not pid:
                break
            has_strays |= pid not in self._reapers or status != 0
            self._reapers.discard(pid)
        if has_strays:
            for pid in stop_below(self._reapers):
                kill(pid)

    def _end_all(self) -> None:
        for pid in (*self._reapers, *stop_below(self._reapers)):
            kill(pid)
