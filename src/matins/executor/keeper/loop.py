"""The keeper's loop: one thread that never blocks, between the executor and its commands."""

from __future__ import annotations

import os
import selectors
import signal
import socket
from collections.abc import Callable
from types import FrameType
from typing import cast

from matins.executor.keeper.child import StartError
from matins.executor.keeper.clock import boot_s
from matins.executor.keeper.command import Command
from matins.executor.keeper.frames import Decoder, Limits, Order, encode
from matins.executor.keeper.orphans import Orphans
from matins.executor.output import one_line

GLANCE_S = 1.0
"""The longest sleep while commands run: a sleep of the host ends without a signal."""

_READ = selectors.EVENT_READ
_WRITE = selectors.EVENT_WRITE


class Loop:
    """Owns the commands and the clock T1."""

    def __init__(self, executor: socket.socket, limits: Limits) -> None:
        self._executor = executor
        self._limits = limits
        self._decoder = Decoder()
        self._outbox = bytearray()
        self._commands: dict[int, Command] = {}
        self._orphans = Orphans()
        self._contact_at = boot_s()
        self._has_executor = True
        self._child_ended = False
        self._selector = selectors.DefaultSelector()
        self._signals = _wake_on_signals()
        executor.setblocking(False)
        self._watch(executor.fileno(), self._receive)
        self._watch(self._signals, self._note_signals)

    def run(self) -> None:
        """Work until the executor is gone and nothing of its commands is left.

        1. Wait for words, output, ended children or the next moment to act.
        2. Look at the clock first: who was frozen must not take old words for a sign of life.
        3. Handle what came.
        4. Let each command whose time has come go on, and report those that are over.
        """
        self._send({"id": 0})
        self._flush()
        while self._has_executor or self._commands:
            ready = self._selector.select(self._patience_s())
            self._check_contact(boot_s())
            for key, _ in ready:
                cast("Callable[[], None]", key.data)()
            self._step(boot_s())
            self._flush()

    def _patience_s(self) -> float | None:
        if not self._commands:
            return None
        now = boot_s()
        moments = [command.wake_at for command in self._commands.values()]
        if not self._is_cut_off(now):
            moments.append(self._contact_at + self._limits.cut_off_s)
        return min(max(min(moments) - now, 0.0), GLANCE_S)

    def _check_contact(self, now: float) -> None:
        if self._is_cut_off(now):
            for command in self._commands.values():
                command.kill("lost", self._why_cut_off(), now)

    def _is_cut_off(self, now: float) -> bool:
        return now - self._contact_at >= self._limits.cut_off_s

    def _why_cut_off(self) -> str:
        return f"its executor had not reached the gateway for {self._limits.cut_off_s:g} s"

    def _step(self, now: float) -> None:
        commands = list(self._commands.values())
        if self._child_ended:
            self._child_ended = False
            self._orphans.reap({command.family.leader for command in commands})
            due = commands
        else:
            due = [command for command in commands if command.wake_at <= now]
        for command in due:
            others = [other.family for other in self._commands.values() if other is not command]
            if command.step(now, self._orphans, others):
                self._close(command)

    def _close(self, command: Command) -> None:
        del self._commands[command.id]
        if not command.is_at_eof:
            self._selector.unregister(command.output)
        command.close()
        self._send({"id": command.id, "result": command.result()})

    def _receive(self) -> None:
        try:
            chunk = self._executor.recv(256 * 1024)
        except BlockingIOError:
            return
        except ConnectionError:
            chunk = b""
        if not chunk:
            self._lose_executor()
        for frame in self._decoder.feed(chunk):
            self._obey(frame)

    def _obey(self, frame: dict[str, object]) -> None:
        match frame:
            case {"contact": float() | int() as asked_at}:
                self._contact_at = max(self._contact_at, min(asked_at, boot_s()))
            case {"contact": None}:
                self._contact_at = boot_s()
            case {"run": dict(order)}:
                self._start(Order(**order))
            case {"cancel": int(number)} if command := self._commands.get(number):
                command.stop("cancelled", "cancelled", boot_s())
            case {"kill": int(number)} if command := self._commands.get(number):
                command.kill("cancelled", "stopped by its executor", boot_s())

    def _start(self, order: Order) -> None:
        now = boot_s()
        if self._is_cut_off(now):
            self._refuse(order, "lost", self._why_cut_off(), permanent=False)
            return
        try:
            command = Command(order, self._limits, now)
        except StartError as error:
            self._refuse(order, "failed", str(error), permanent=error.permanent)
            return
        self._commands[order.id] = command

        def read() -> None:
            command.read()
            if command.is_at_eof:
                self._selector.unregister(command.output)

        self._watch(command.output, read)

    def _refuse(self, order: Order, outcome: str, reason: str, *, permanent: bool) -> None:
        result = {"outcome": outcome, "reason": one_line(reason), "permanent": permanent}
        self._send({"id": order.id, "result": result})

    def _lose_executor(self) -> None:
        self._has_executor = False
        self._outbox.clear()
        self._selector.unregister(self._executor.fileno())
        for command in self._commands.values():
            command.kill("lost", "its executor ended", boot_s())

    def _note_signals(self) -> None:
        os.read(self._signals, 4096)
        self._child_ended = True

    def _send(self, frame: dict[str, object]) -> None:
        if self._has_executor:
            self._outbox += encode(frame)

    def _flush(self) -> None:
        if not self._has_executor:
            return
        try:
            while self._outbox:
                del self._outbox[: self._executor.send(self._outbox)]
        except BlockingIOError:
            pass  # the executor is frozen, or busy: it will listen again, or end
        except ConnectionError:
            self._lose_executor()
            return
        events = _READ | _WRITE if self._outbox else _READ
        self._selector.modify(self._executor.fileno(), events, self._receive)

    def _watch(self, descriptor: int, callback: Callable[[], None]) -> None:
        self._selector.register(descriptor, _READ, callback)


def _wake_on_signals() -> int:
    """Make signals readable, and harmless: the keeper ends when its executor does, not before.

    Handlers rather than SIG_IGN, because commands would inherit that.
    """
    read, write = os.pipe()
    os.set_blocking(read, False)
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, _note)
    return read


def _note(_number: int, _frame: FrameType | None) -> None:
    """Nothing to do: the wake-up through the pipe is all that is needed."""
