"""The life of one command: running, stopped gently, killed, drained, cleared."""

from __future__ import annotations

import os
import signal
from collections import Counter
from enum import Enum, auto
from typing import Protocol

from matins.executor.keeper.frames import CLEAR, TERMINATE, KeeperLimits, Order
from matins.executor.keeper.passing import CHUNK, Passing
from matins.executor.keeper.proc import out_of_memory_count
from matins.executor.masking import Mask
from matins.executor.output import one_line

_NAMES = {member.value: member.name for member in signal.Signals}
_KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)
"""The exit codes of a command that was killed, and of a shell whose command was."""
_LEFT_MAX = 5


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
    """All that is left of it is being killed."""
    OVER = auto()


class ReaperEnd(Protocol):
    """The way to a command's reaper; see `held.ReaperLink`."""

    def send(self, words: bytes) -> None:
        """Tell it what to do with its command."""

    def kill(self) -> None:
        """End the reaper itself, and thereby all that it has."""


class RunningCommand:
    """One command from its start until all of its processes are gone.

    `wake_at` is when `wake` wants to be called, on the keeper's clock; once `is_over`, `result`
    tells how it ended.
    """

    def __init__(
        self, order: Order, limits: KeeperLimits, reaper: ReaperEnd, output: int, now: float
    ) -> None:
        self.id = order.id
        self.output = output
        """The descriptor to read from, until `is_at_eof`."""
        self.is_at_eof = False
        self.wake_at = now + order.timeout_s
        self.passing = Passing(limits, Mask(order.secrets), order.keep)
        self.passes_from = now + limits.live_after_s
        """From when on its output is passed on: most commands end before."""
        self._timeout_s = order.timeout_s
        self._limits = limits
        self._reaper = reaper
        self._phase = Phase.RUNNING
        self._is_hurried = False
        self._is_clear = False
        self._verdict = ("", "", False)
        """Outcome, reason, and whether it is permanent, where the exit code does not count."""
        self._exit: int | None = None
        self._oom_kills_before = out_of_memory_count()
        self._oom_kills = 0
        self._note = ""
        self._is_forsaken = False
        self._is_reaper_spoilt = False

    @property
    def is_clear(self) -> bool:
        """Whether nothing of it is left, so that its reaper may run another."""
        return self._is_clear and not self._is_reaper_spoilt

    @property
    def is_over(self) -> bool:
        """Whether nothing more can come."""
        return self._phase is Phase.OVER

    def read(self, now: float) -> None:
        """Take what the command wrote."""
        try:
            chunk = os.read(self.output, CHUNK)
        except BlockingIOError:
            return
        self.passing.append(chunk)
        self.is_at_eof = not chunk
        if self.is_at_eof and self._phase is Phase.DRAINING:
            self._finish(now)

    def stop(self, outcome: str, reason: str, now: float) -> None:
        """End it gently: SIGTERM, and SIGKILL after the grace. What ended before is left alone."""
        if self._phase is Phase.RUNNING:
            self._verdict = (outcome, reason, False)
            self._enter(Phase.STOPPING, now + self._limits.grace_s)
            self._reaper.send(TERMINATE)

    def kill(self, outcome: str, reason: str, now: float) -> None:
        """End it at once. What ended by itself before keeps its result."""
        self._is_hurried = True
        if self._phase is Phase.DRAINING:
            self._finish(now)
        if self._phase in (Phase.RUNNING, Phase.STOPPING):
            self._verdict = (outcome, reason, False)
            self._kill_all(now)

    def hear(self, frame: dict[str, object], now: float) -> None:
        """Take a word of its reaper."""
        match frame:
            case {"exit": int(code), "told": bool(told)}:
                self._exit = code
                if code in _KILLED and not told:
                    self._oom_kills = out_of_memory_count() - self._oom_kills_before
                if not told:  # it was faster than our word
                    self._verdict = ("", "", False)
                self._enter(Phase.DRAINING, now + self._limits.drain_s)
                if self.is_at_eof or self._is_hurried:
                    self._finish(now)
            case {"left": list(names), "spoilt": bool(spoilt)}:
                self._is_clear = True
                self._is_reaper_spoilt = spoilt
                if names and not self._verdict[0]:
                    self._note = _leftovers_note(names)
                if self._phase is Phase.CLEARING:
                    self._phase = Phase.OVER
            case {"trouble": str(reason), "permanent": bool(permanent)}:
                self._refuse("failed", reason, permanent=permanent)
            case {"late": True}:
                self._refuse("lost", cut_off_reason(self._limits.cut_off_s))

    def lose(self) -> None:
        """Its reaper is gone, and with it all that it had."""
        if self._phase in (Phase.RUNNING, Phase.STOPPING):
            self._verdict = ("lost", "the process that held it was killed", False)
        if not (self._is_clear and self._phase is Phase.DRAINING):  # that may still be read
            self._phase = Phase.OVER

    def wake(self, now: float) -> None:
        """Do what is to be done when `wake_at` has come."""
        match self._phase:
            case Phase.RUNNING:
                self.stop("timed_out", f"timed out after {self._timeout_s:g} s", now)
            case Phase.STOPPING:
                outcome, reason, _ = self._verdict
                grace = f"{self._limits.grace_s:g} s"
                self._verdict = (outcome, f"{reason}; killed {grace} after SIGTERM", False)
                self._kill_all(now)
            case Phase.DRAINING:
                self._finish(now)
            case Phase.KILLED | Phase.CLEARING if not self._is_forsaken:  # is the reaper frozen?
                self._is_forsaken = True
                self.wake_at = now + self._limits.clear_s
                self._reaper.kill()
            case Phase.KILLED | Phase.CLEARING:  # it hangs in the kernel, or is not ours to kill
                self._note = "\n[some of its processes could not be ended]\n"
                self._phase = Phase.OVER
            case Phase.OVER:
                pass

    def result(self) -> dict[str, object]:
        """Return how it ended, in the words of `Result`."""
        outcome, reason, permanent = self._conclusion()
        told = self.passing.result()
        return told | {
            "outcome": outcome,
            "reason": one_line(reason),
            "permanent": permanent,
            "output": f"{told['output']}{self._note}",
            "exit_code": self._exit if self._exit is not None and self._exit >= 0 else None,
        }

    def _conclusion(self) -> tuple[str, str, bool]:
        if self._verdict[0]:
            return self._verdict
        assert self._exit is not None
        if not self._exit:
            return "succeeded", "", False
        if self._exit < 0:
            name = _NAMES.get(-self._exit, f"signal {-self._exit}")  # 32, 33 and others have none
            reason = f"killed by {name}"
        else:
            reason = f"exit code {self._exit}"
        if self._oom_kills:
            reason += f"; memory ran out: the kernel ended {self._oom_kills} processes meanwhile"
        return "failed", reason, False

    def _refuse(self, outcome: str, reason: str, *, permanent: bool = False) -> None:
        self._verdict = (outcome, reason, permanent)
        self._is_clear = True
        self._phase = Phase.OVER

    def _enter(self, phase: Phase, wake_at: float) -> None:
        self._phase, self.wake_at = phase, wake_at

    def _kill_all(self, now: float) -> None:
        self._enter(Phase.KILLED, now + self._limits.clear_s)
        self._reaper.send(CLEAR)

    def _finish(self, now: float) -> None:
        """End what is left of it, now that its output is read."""
        self._enter(Phase.CLEARING, now + self._limits.clear_s)
        if self._is_clear:
            self._phase = Phase.OVER
        else:
            self._reaper.send(CLEAR)


def cut_off_reason(cut_off_s: float) -> str:
    """Why a command ends, or is not started, after T1."""
    return f"its executor had not reached the gateway for {cut_off_s:g} s"


def _leftovers_note(names: list[str]) -> str:
    """Return which background processes were ended with their command."""
    counts = Counter(names).most_common()
    listed = ", ".join(f"{n} x {name}" if n > 1 else name for name, n in counts[:_LEFT_MAX])
    more = ", ..." if len(counts) > _LEFT_MAX else ""
    what = "a background process was" if len(names) == 1 else f"{len(names)} processes were"
    return f"\n[{what} still running when the command ended, and killed: {listed}{more}]\n"
