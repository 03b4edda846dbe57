"""The reaper: the one parent of all that a command forks, so that it ends whole.

It is the first process of the command's namespaces, or else adopts its orphans. It does as its
keeper says and judges no time; when the keeper is gone it ends the command, and then itself.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
from collections import deque
from subprocess import Popen
from typing import NoReturn

from matins.executor.keeper.child import TooLateError, spawn
from matins.executor.keeper.frames import Decoder, Order, RunAs, encode
from matins.executor.keeper.proc import (
    IS_LINUX,
    PROC,
    adopt_orphans,
    all_pids,
    be_sacrificed_first,
    children,
    hide,
    kill,
    kill_all,
    name_of,
    stop_below,
)
from matins.executor.keeper.program import StartError
from matins.executor.keeper.signals import drain, wake_on_children

RECHECK_MS = 20
"""How often it is checked whether killed processes are gone."""

_CHUNK = 64 * 1024


class Reaper:
    """Runs one command after the other, each until none of its processes is left.

    Unless one has spoilt the namespaces for those after it: as root it may unmount /proc.

    Is given `Order`s, each with a descriptor for the output. Says `{"trouble", "permanent"}` or
    `{"late"}` of a command that was not started; otherwise `{"exit", "told"}` at its end and
    `{"left", "spoilt"}` when nothing is left of it. `told`: it was asked to end before. `left`: the
    names of processes that were there after the command's own end. `spoilt`: it runs no other.
    """

    def __init__(self, control: int, processes: int, *, apart: bool) -> None:
        self._control = socket.socket(fileno=control)
        self._processes = processes
        self._apart = apart
        self._is_counted = apart and os.geteuid() != 0  # in its user namespace
        self._decoder = Decoder()
        self._frames: deque[dict[str, object]] = deque()
        self._descriptors: list[int] = []
        self._has_keeper = True

    def run(self) -> NoReturn:
        """Run what comes until the keeper is gone; exits with 0 if nothing is left of it."""
        status = 1
        try:
            self._signals = wake_on_children()
            if not self._apart:
                adopt_orphans()
            hide(hidden=False)  # or the file is root's
            be_sacrificed_first()
            hide()
            folder = os.open(".", os.O_RDONLY)
            while self._has_keeper and not self._is_spoilt():
                if not self._frames:
                    self._receive()
                elif "argv" in (frame := self._frames.popleft()):
                    os.fchdir(folder)
                    self._start(Order(**frame))  # type: ignore[arg-type] # as its keeper wrote it
            status = 0
        finally:
            os._exit(status)

    def _receive(self) -> None:
        try:
            chunk, descriptors, _, _ = socket.recv_fds(self._control, _CHUNK, 1)
        except ConnectionError:
            chunk, descriptors = b"", []
        self._descriptors += descriptors
        self._frames += self._decoder.feed(chunk)
        self._has_keeper = bool(chunk)

    def _start(self, order: Order) -> None:
        output = self._descriptors.pop()
        self._is_its_own = bool(order.account and RunAs(*order.account).is_its_own)
        is_counted = self._is_counted or self._is_its_own
        try:
            leader = spawn(order, output, self._processes if is_counted else None)
        except StartError as error:
            self._say({"trouble": str(error), "permanent": error.permanent})
        except TooLateError:
            self._say({"late": True})
        else:
            os.close(output)
            self._keep(leader)
            return
        os.close(output)

    def _keep(self, leader: Popen[bytes]) -> None:
        """Until nothing is left: do as told, and take leave of what has ended."""
        self._leader = leader.pid
        self._has_exited = self._was_told = self._is_clearing = False
        self._left: dict[int, str] = {}
        poll = select.poll()
        poll.register(self._signals, select.POLLIN)
        poll.register(self._control, select.POLLIN)
        while self._reap() or not (IS_LINUX or self._is_clearing):
            for descriptor, _ in poll.poll(RECHECK_MS if self._is_clearing else None):
                if descriptor == self._signals:
                    drain(self._signals)
                    continue
                self._obey()
                if not self._has_keeper:
                    poll.unregister(self._control)
            if self._is_clearing:
                self._clear()
        if not IS_LINUX:  # the group is all that is known of what it forked
            self._signal_group(signal.SIGKILL)
        self._say({"left": sorted(self._left.values()), "spoilt": self._is_spoilt()})
        leader.returncode = 0  # it was waited for

    def _is_spoilt(self) -> bool:
        """Return whether a command has left namespaces that the next one can't live in."""
        return self._apart and not (PROC / "self").exists()

    def _obey(self) -> None:
        self._receive()
        self._reap()  # who has ended already was not told
        self._was_told |= not self._has_exited
        words = {frame["do"] for frame in self._frames}
        self._frames.clear()
        if "terminate" in words and not self._has_exited:
            self._signal_group(signal.SIGTERM)
            self._signal_group(signal.SIGCONT)  # a stopped process can't hear SIGTERM
        self._is_clearing |= "clear" in words or not self._has_keeper

    def _reap(self) -> bool:
        """Take leave of what has ended. False: there are no children, and the command has ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if not pid:
                return True
            if pid == self._leader:
                self._has_exited = True
                code = os.waitstatus_to_exitcode(status)
                self._say({"exit": code, "told": self._was_told})

    def _clear(self) -> None:
        """Kill what there is; what that leaves to be adopted is killed next time."""
        if self._apart:
            pids = [pid for pid in all_pids() if pid != 1]
        else:
            pids = children() if self._is_its_own else stop_below()
        if self._has_exited:
            names = ((pid, name_of(pid)) for pid in pids if pid not in self._left)
            self._left |= {pid: name for pid, name in names if name is not None}
        if self._apart or self._is_its_own:
            kill_all()
        elif not self._has_exited:
            self._signal_group(signal.SIGKILL)
        for pid in pids:
            kill(pid)

    def _signal_group(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._leader, number)

    def _say(self, frame: dict[str, object]) -> None:
        with contextlib.suppress(ConnectionError):
            self._control.sendall(encode(frame))
