"""Tells operators what is wrong with all of Matins, and when it is well again.

It needs neither engine: the database may be what is away. So each API process tells it by itself,
from its memory; what began at a time that rows know has the same name in all of them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from uuid import UUID

import structlog

from matins.alerts.channels import UndeliveredError
from matins.domain.alerts.edges import Edge, Level, RuleStanding, Turn, step
from matins.domain.alerts.texts import Message, instant_text
from matins.domain.ports import Clock
from matins.domain.ports.status import StatusView
from matins.domain.status.findings import Finding, FindingKind, SystemStatus, beside_channels
from matins.domain.values.ids import hashed_id
from matins.kernel.contact import Contact
from matins.kernel.service import repeat

EVERY_S: Final = 1.0
"""Looks are this far apart: the last judgement is kept, so that asking for it costs nothing."""

_TRY_S: Final = 20.0
_AGAIN_S: Final = 5.0
"""What has not arrived is sent again after this."""

_KEPT: Final = 100
"""The most messages that wait; the oldest are dropped first."""

Notify = Callable[[UUID, Message], Awaitable[None]]
"""Sends a message of that name. Raises UndeliveredError."""

log = structlog.get_logger()


class OperatorAlerts:
    """Looks at the findings, and sends what is new of them. See `kernel.service.Service`."""

    def __init__(
        self, system: StatusView, notify: Notify, clock: Clock, settle_s: float = 0.0
    ) -> None:
        """In the first `settle_s` nothing is told: what was down as a whole is just starting."""
        self._system = system
        self._notify = notify
        self._clock = clock
        self._from_s = clock.elapsed_s() + settle_s
        self._again_s = 0.0
        self._stopping = asyncio.Event()
        self._contact = Contact(clock.elapsed_s, "operators.undelivered", "operators.delivered")
        self._standings: dict[tuple[FindingKind, str], RuleStanding] = {}
        self._waiting: deque[tuple[UUID, Message]] = deque(maxlen=_KEPT)

    async def run(self) -> None:
        """Work until stopped."""
        await repeat(self.tell, EVERY_S, self._clock, self._stopping, name="operators")

    async def stop(self) -> None:
        """End soon."""
        self._stopping.set()

    async def tell(self) -> None:
        """Look once, and send what waits; what does not arrive is sent again at a later look."""
        if self._clock.elapsed_s() < self._from_s:
            return
        edges = self._edges(await self._system.status())
        for turn in (Turn.BAD, Turn.FLAPPING, Turn.WELL):
            if turned := [edge for edge in edges if edge.turn is turn]:
                self._waiting.append((_name(turned), _message(turn, turned)))
        while self._waiting and self._clock.elapsed_s() >= self._again_s:
            name, message = self._waiting[0]
            try:
                async with asyncio.timeout(_TRY_S):
                    await self._notify(name, message)
            except (TimeoutError, UndeliveredError) as error:
                self._contact.failed(
                    str(error) or f"no answer within {_TRY_S:g} s", delivery=str(name)
                )
                self._again_s = self._clock.elapsed_s() + _AGAIN_S
                return
            self._contact.worked()
            self._waiting.popleft()

    def _edges(self, status: SystemStatus) -> list[Edge]:
        """Compare what is found with what was told."""
        found = {finding.key: finding for finding in beside_channels(status)}
        edges = []
        for key in {**self._standings, **found}:
            before, finding = self._standings.get(key), found.get(key)
            level = _level(finding, before, status)
            self._standings[key], edge = step(before, level, status.judged_at)
            edges += [edge] if edge else []
        return edges


def _level(finding: Finding | None, before: RuleStanding | None, status: SystemStatus) -> Level:
    """Return how a finding stands; one that is gone keeps its words."""
    if finding is None:
        reason = "" if before is None else before.reason
        return Level(is_bad=False, since=status.judged_at, reason=reason)
    reason = f"{finding.what}. {finding.remedy}"
    return Level(is_bad=True, since=finding.since or status.judged_at, reason=reason)


def _name(edges: Sequence[Edge]) -> UUID:
    words = "\n".join(f"{edge.turn} {edge.level.since} {edge.level.reason}" for edge in edges)
    return hashed_id(b"matins.operators", words.encode())


def _message(turn: Turn, edges: Sequence[Edge]) -> Message:
    title = {
        Turn.BAD: "Matins: something is wrong",
        Turn.WELL: "Matins: well again",
        Turn.FLAPPING: "Matins: something keeps changing",
    }[turn]
    lines = [
        f"- {edge.level.reason} (since {instant_text(edge.level.since)})"
        if turn is not Turn.WELL
        else f"- it was: {edge.level.reason}"
        for edge in edges
    ]
    return Message(title, "\n".join([*lines, "Look: matins status"]))
