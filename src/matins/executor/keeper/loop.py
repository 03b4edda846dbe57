"""The keeper's loop: one thread that never blocks, between the executor and its commands.

No step costs more for the commands that run meanwhile; only T1 and the executor's end go to all.
"""

from __future__ import annotations

import selectors
import socket
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from typing import cast

from matins.executor.keeper.channel import KeeperChannel
from matins.executor.keeper.clock import boot_s
from matins.executor.keeper.command import cut_off_reason
from matins.executor.keeper.frames import KeeperLimits, Order, encode
from matins.executor.keeper.held import HeldCommand, ReaperLink
from matins.executor.keeper.pass_on import PassOn
from matins.executor.keeper.program import StartError, program_of
from matins.executor.output import one_line

GLANCE_S = 1.0
"""The longest sleep while commands run: a sleep of the host ends without a signal."""

FORKS_MAX = 32
"""How many reapers are asked for at once; the other orders wait."""

IDLE_MAX = 8
"""How many reapers wait for another command of the same team and account; forking is dear."""


class Loop:
    """Owns the commands and the clock T1."""

    def __init__(
        self, executor: socket.socket, nursery: socket.socket, limits: KeeperLimits
    ) -> None:
        self._limits = limits
        self._waiting: dict[int, Order] = {}
        self._asked: deque[ReaperLink] = deque()
        self._idle: deque[ReaperLink] = deque()
        self._held: dict[int, HeldCommand] = {}
        self._timers: list[tuple[float, int]] = []
        self._contact_at = boot_s()
        self._selector = selectors.DefaultSelector()
        self._executor = KeeperChannel(executor, self._selector, self._hear_executor)
        self._nursery = KeeperChannel(nursery, self._selector, self._hear_nursery)
        self._pass_on = PassOn(self._executor, self._held, limits)

    def run(self) -> None:
        """Work until the executor is gone and nothing of its commands is left, or the nursery is.

        1. Wait for words, output, or the next moment to act.
        2. Look at the clock first: who was frozen must not take old words for a sign of life.
        3. Handle what came, then what is due.
        """
        while (self._executor.is_open or self._held) and self._nursery.is_open:
            ready = self._selector.select(self._patience_s())
            self._check_contact(boot_s())
            for key, _ in ready:
                if key.fd in self._selector.get_map():  # nobody closed it meanwhile
                    cast("Callable[[], None]", key.data)()
            self._wake_due(boot_s())
            self._pass_on.pass_due(boot_s())

    def _patience_s(self) -> float | None:
        if not self._held:
            return None
        moments = [self._timers[0][0]] if self._timers else []
        if (pass_on_at := self._pass_on.next_at) is not None:
            moments.append(pass_on_at)
        if not self._is_cut_off(now := boot_s()):
            moments.append(self._contact_at + self._limits.cut_off_s)
        return min([GLANCE_S, *(max(moment - now, 0.0) for moment in moments)])

    def _check_contact(self, now: float) -> None:
        if self._is_cut_off(now):
            self._end_all("lost", cut_off_reason(self._limits.cut_off_s))

    def _is_cut_off(self, now: float) -> bool:
        return now - self._contact_at >= self._limits.cut_off_s

    def _end_all(self, outcome: str, reason: str) -> None:
        for order in list(self._waiting.values()):
            self._refuse(order.id, outcome, reason)
        for held in list(self._held.values()):
            held.command.kill(outcome, reason, boot_s())
            self._changed(held)

    def _wake_due(self, now: float) -> None:
        while self._timers and self._timers[0][0] <= now:
            moment, number = heappop(self._timers)
            held = self._held.get(number)
            if held is None or held.scheduled_at != moment:
                continue
            held.scheduled_at = None
            if held.command.wake_at <= now:
                held.command.wake(now)
            self._changed(held)

    def _changed(self, held: HeldCommand) -> None:
        """Report a command that is over; otherwise note when it wants to be woken next.

        It is noted again only for an earlier moment: who is woken too early is noted anew.
        """
        command = held.command
        if command.is_over:
            if self._held.pop(command.id, None):
                held.close()
                self._pass_on.finish(held)
                self._keep_or_close(held.reaper, is_clear=command.is_clear)
                self._send({"id": command.id, "result": command.result()})
            return
        self._pass_on.note(held)
        if held.scheduled_at is None or command.wake_at < held.scheduled_at:
            held.scheduled_at = command.wake_at
            heappush(self._timers, (command.wake_at, command.id))

    def _keep_or_close(self, reaper: ReaperLink, *, is_clear: bool) -> None:
        if not (is_clear and reaper.is_idle):
            reaper.close()
            return
        self._idle.append(reaper)
        if len(self._idle) > IDLE_MAX:
            self._idle.popleft().close()

    def _reaper_for(self, order: Order) -> ReaperLink:
        """One that has run a command of the same team under the same account, or a new one.

        Nobody's namespaces, memory or account are given on to another team. Raises OSError.
        """
        kind = (order.team, order.account)
        for reaper in reversed(self._idle):
            if reaper.kind == kind and reaper.is_idle:
                self._idle.remove(reaper)
                return reaper
        reaper = ReaperLink(self._selector, self._nursery, kind)
        self._asked.append(reaper)
        return reaper

    def _hear_executor(self) -> None:
        frames = self._executor.receive()
        for frame in frames:
            self._obey(frame)
        if not self._executor.is_open:
            self._end_all("lost", "its executor ended")

    def _obey(self, frame: dict[str, object]) -> None:
        match frame:
            case {"contact": float() | int() as asked_at}:
                # Not back, by an answer that comes late; not ahead, by a time that is not ours.
                self._contact_at = max(self._contact_at, min(asked_at, boot_s()))
            case {"contact": None}:
                self._contact_at = boot_s()
            case {"run": dict(order)}:
                self._take(Order(**order))
            case {"cancel": int(number)} if held := self._held.get(number):
                held.command.stop("cancelled", "cancelled", boot_s())
                self._changed(held)
            case {"kill": int(number)} if held := self._held.get(number):
                held.command.kill("cancelled", "stopped by its executor", boot_s())
                self._changed(held)
            case {"cancel": int(number)} | {"kill": int(number)} if number in self._waiting:
                self._refuse(number, "cancelled", "cancelled before it was started")

    def _hear_nursery(self) -> None:
        for answer in self._nursery.receive():
            if "apart" in answer:
                self._send(answer)
            else:
                self._asked.popleft().answered(answer)
        self._start_waiting()

    def _take(self, order: Order) -> None:
        self._waiting[order.id] = order
        try:
            program_of(order)
        except StartError as error:
            self._refuse(order.id, "failed", str(error), permanent=error.permanent)
        self._start_waiting()

    def _start_waiting(self) -> None:
        while self._waiting and len(self._asked) < FORKS_MAX and self._nursery.is_open:
            number, order = next(iter(self._waiting.items()))
            if self._is_cut_off(boot_s()):
                self._refuse(number, "lost", cut_off_reason(self._limits.cut_off_s))
                continue
            order = order._replace(start_by=self._contact_at + self._limits.cut_off_s)
            try:
                reaper = self._reaper_for(order)
            except BlockingIOError:  # its next answer starts the rest
                return
            except OSError as error:
                self._refuse(number, "failed", f"no process could be started: {error.strerror}")
                continue
            try:
                held = HeldCommand(order, self._limits, self._selector, reaper, self._changed)
            except OSError as error:
                reaper.close()
                self._refuse(number, "failed", f"no process could be started: {error.strerror}")
                continue
            del self._waiting[number]
            self._held[number] = held
            self._changed(held)

    def _refuse(self, number: int, outcome: str, reason: str, *, permanent: bool = False) -> None:
        del self._waiting[number]
        result = {"outcome": outcome, "reason": one_line(reason), "permanent": permanent}
        self._send({"id": number, "result": result})

    def _send(self, frame: dict[str, object]) -> None:
        self._executor.send(encode(frame))
