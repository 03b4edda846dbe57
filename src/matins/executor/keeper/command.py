"""The life of one command: running, stopped gently, killed, drained, cleared."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from enum import Enum, auto

from matins.executor.keeper.child import CHUNK, Child, StartError
from matins.executor.keeper.frames import Limits, Order
from matins.executor.keeper.orphans import Family, Orphans
from matins.executor.output import HeadTail, one_line

RECHECK_S = 0.02
"""How often it is checked whether killed processes are gone."""


def signal_name(number: int) -> str:
    """A signal's name, or its number where it has none: 32, 33, and the real-time signals."""
    names = {it.value: it.name for it in signal.Signals}
    return names.get(number, f"signal {number}")


class Phase(Enum):
    """Where a command stands."""

    RUNNING = auto()
    STOPPING = auto()
    """SIGTERM was sent, the grace is running."""
    KILLED = auto()
    """SIGKILL was sent."""
    DRAINING = auto()
    """The command has exited; its children may still hold the pipe."""
    CLEARING = auto()
    """The group was killed; what is left of it, and what left it, is hunted down."""
    OVER = auto()


_ALIVE = frozenset({Phase.RUNNING, Phase.STOPPING, Phase.KILLED})


class Command:
    """One command from its start until all of its processes are gone.

    `wake_at` is when `step` wants to be called again, on the keeper's clock; it is also to be
    called when any child has ended.
    """

    def __init__(self, order: Order, limits: Limits, now: float) -> None:
        """Start it. Raises StartError."""
        self.id = order.id
        self._limits = limits
        self._timeout_s = order.timeout_s
        self._child = Child(order.argv, order.env, order.cwd)
        self.family = Family(self._child.pid, order.marks())
        self.wake_at = now + order.timeout_s
        self._phase = Phase.RUNNING
        self._output = HeadTail(limits.head_max, limits.tail_max)
        self.is_at_eof = False
        self._is_hurried = False
        self._clear_until = 0.0
        self._verdict = ("", "")
        self._exit: int | StartError | None = None
        self._left: list[int] = []

    @property
    def output(self) -> int:
        """The descriptor to read from, until `is_at_eof`."""
        return self._child.output

    def read(self) -> None:
        """Take what the command wrote."""
        try:
            chunk = os.read(self.output, CHUNK)
        except BlockingIOError:
            return
        self._output.append(chunk)
        self.is_at_eof = not chunk
        if self.is_at_eof and self._phase is Phase.DRAINING:
            self.wake_at = 0.0

    def close(self) -> None:
        """Close its pipes, once it is over."""
        self._child.close()

    def stop(self, outcome: str, reason: str, now: float) -> None:
        """End it gently: SIGTERM, and SIGKILL after the grace. What ended before is left alone."""
        if self._phase is not Phase.RUNNING or self._child.has_exited():
            return
        self._verdict = (outcome, reason)
        self._enter(Phase.STOPPING, now + self._limits.grace_s)
        self._child.signal_group(signal.SIGTERM)
        self._child.signal_group(signal.SIGCONT)  # a stopped process can't hear SIGTERM

    def kill(self, outcome: str, reason: str, now: float) -> None:
        """End it at once. What ended by itself before keeps its result."""
        self._is_hurried = True
        if self._phase is Phase.DRAINING:
            self.wake_at = now
        if self._phase in (Phase.RUNNING, Phase.STOPPING) and not self._child.has_exited():
            self._verdict = (outcome, reason)
            self._kill_group(now)

    def step(self, now: float, orphans: Orphans, others: Iterable[Family]) -> bool:
        """Go on as far as can be gone now. True: it is over, and `result` tells how."""
        if self._phase in _ALIVE and self._child.has_exited():
            self._enter(Phase.DRAINING, now if self._is_hurried else now + self._limits.drain_s)
        if now >= self.wake_at:
            self._overdue(now, orphans)
        if self._phase is Phase.DRAINING and self.is_at_eof:
            self._finish(now)
        if self._phase is Phase.CLEARING:
            self._clear(now, orphans, others)
        return self._phase is Phase.OVER

    def result(self) -> dict[str, object]:
        """How it ended, in the words of `Result`."""
        outcome, reason, permanent = self._conclusion()
        text = self._output.text()
        if self._left:
            text += f"\n[{len(self._left)} of its processes could not be ended]\n"
        return {
            "outcome": outcome,
            "reason": one_line(reason),
            "permanent": permanent,
            "output": text,
            "output_cut": self._output.cut,
            "exit_code": self._exit if isinstance(self._exit, int) and self._exit >= 0 else None,
        }

    def _conclusion(self) -> tuple[str, str, bool]:
        outcome, reason = self._verdict
        if outcome:
            return outcome, reason, False
        if isinstance(self._exit, StartError):
            return "failed", str(self._exit), self._exit.permanent
        assert self._exit is not None
        if self._exit < 0:
            return "failed", f"killed by {signal_name(-self._exit)}", False
        if self._exit > 0:
            return "failed", f"exit code {self._exit}", False
        return "succeeded", "", False

    def _enter(self, phase: Phase, wake_at: float) -> None:
        self._phase, self.wake_at = phase, wake_at

    def _overdue(self, now: float, orphans: Orphans) -> None:
        match self._phase:
            case Phase.RUNNING:
                self.stop("timed_out", f"timed out after {self._timeout_s:g} s", now)
            case Phase.STOPPING:
                outcome, reason = self._verdict
                grace = f"{self._limits.grace_s:g} s"
                self._verdict = (outcome, f"{reason}; killed {grace} after SIGTERM")
                self._kill_group(now)
            case Phase.KILLED:  # it hangs in the kernel, or is not ours to kill
                self._left = [self._child.pid]
                orphans.give_up(self._left)
                self._phase = Phase.OVER
            case Phase.DRAINING:
                self._finish(now)
            case Phase.CLEARING | Phase.OVER:
                pass

    def _kill_group(self, now: float) -> None:
        self._enter(Phase.KILLED, now + self._limits.clear_s)
        self._child.signal_group(signal.SIGKILL)

    def _finish(self, now: float) -> None:
        """Kill the group while its name is still ours, then take the exit code."""
        self._child.signal_group(signal.SIGKILL)
        try:
            self._exit = self._child.reap()
        except StartError as error:
            self._exit = error
        self._clear_until = now + self._limits.clear_s
        self._phase = Phase.CLEARING

    def _clear(self, now: float, orphans: Orphans, others: Iterable[Family]) -> None:
        self._left = orphans.clear(self.family, others)
        self.wake_at = now + RECHECK_S
        if self._left and now < self._clear_until:
            return
        orphans.give_up(self._left)
        self._phase = Phase.OVER
