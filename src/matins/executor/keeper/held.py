"""What the loop has of one command: its life, its output, and the way to its reaper."""

from __future__ import annotations

import os
import selectors
import socket
from collections.abc import Callable

from matins.executor.keeper.channel import KeeperChannel
from matins.executor.keeper.clock import boot_s
from matins.executor.keeper.command import RunningCommand
from matins.executor.keeper.frames import FORK, KILL, PID_BYTES, KeeperLimits, Order, encode


class ReaperLink:
    """The way to a reaper, which has one command or none: `held` is told what it says."""

    def __init__(
        self, selector: selectors.BaseSelector, nursery: KeeperChannel, kind: object
    ) -> None:
        """Have it forked. Raises OSError; BlockingIOError: the nursery can't take more now."""
        self.kind = kind
        """Whose commands it may run."""
        self.held: HeldCommand | None = None
        self._nursery = nursery
        self._pid: int | None = None
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                nursery.send_with(FORK, [theirs.fileno()])
            except OSError:
                ours.close()
                raise
        self._channel = KeeperChannel(ours, selector, self._hear)

    @property
    def is_idle(self) -> bool:
        """Whether it can take another command."""
        return self.held is None and self._channel.is_open

    def start(self, order: Order, held: HeldCommand, output: int) -> None:
        """Have it run a command. Raises OSError."""
        known = order._replace(secrets=())  # it masks nothing
        self._channel.send_with(encode(known._asdict()), [output])
        self.held = held

    def send(self, words: bytes) -> None:
        """Tell it what to do with its command."""
        self._channel.send(words)

    def kill(self) -> None:
        """End the reaper itself, and thereby all that it has."""
        if self._pid is not None:
            self._nursery.send(KILL + self._pid.to_bytes(PID_BYTES, "big"))

    def answered(self, answer: dict[str, object]) -> None:
        """Take the nursery's answer to the request for it."""
        match answer:
            case {"pid": int(pid)}:
                self._pid = pid
            case {"error": str(error)} if self.held:
                self._channel.close()
                self.held.refuse(f"no process could be started: {error}")
        self._look()

    def close(self) -> None:
        """Let it end."""
        self._channel.close()

    def _hear(self) -> None:
        for frame in self._channel.receive():
            if self.held:
                self.held.hear(frame)
        self._look()

    def _look(self) -> None:
        """That it has hung up means something only once it is known that there ever was one."""
        if not self._channel.is_open and self._pid is not None and self.held:
            self.held.lose()


class HeldCommand:
    """A command that a reaper was told to run. `on_change` is called when something came of it."""

    def __init__(
        self,
        order: Order,
        limits: KeeperLimits,
        selector: selectors.BaseSelector,
        reaper: ReaperLink,
        on_change: Callable[[HeldCommand], None],
    ) -> None:
        """Have it run. Raises OSError."""
        self.reaper = reaper
        self.scheduled_at: float | None = None
        """For when the loop has noted that it wants to be woken."""
        self.passed_on_at: float | None = None
        """When its output is passed on next, if there is any."""
        self._selector = selector
        self._on_change = on_change
        output, write = os.pipe()
        try:
            reaper.start(order, self, write)
        except OSError:
            os.close(output)
            raise
        finally:
            os.close(write)
        os.set_blocking(output, False)
        self.command = RunningCommand(order, limits, reaper, output, boot_s())
        selector.register(output, selectors.EVENT_READ, self._read)

    def hear(self, frame: dict[str, object]) -> None:
        """Take a word of the reaper."""
        self.command.hear(frame, boot_s())
        self._on_change(self)

    def refuse(self, reason: str) -> None:
        """Note that it was not started."""
        self.hear({"trouble": reason, "permanent": False})

    def lose(self) -> None:
        """Note that its reaper is gone."""
        self.command.lose()
        self._on_change(self)

    def close(self) -> None:
        """Let go of its output and of its reaper."""
        if not self.command.is_at_eof:
            self._selector.unregister(self.command.output)
        os.close(self.command.output)
        self.reaper.held = None

    def _read(self) -> None:
        self.command.read(boot_s())
        if self.command.is_at_eof:
            self._selector.unregister(self.command.output)
        self._on_change(self)
