"""Tells operators what is wrong with all of Matins, and when it is well again.

Each API process sees it, and rows say which one tells it. That needs PostgreSQL, which may be what
is away: where the rows can't be asked, each tells it by itself, and so its end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime
from typing import Final, NamedTuple, TypeVar
from uuid import UUID

import structlog

from matins.alerts.channels import UndeliveredError
from matins.domain.alerts.edges import Edge, Level, RuleStanding, Turn, step
from matins.domain.alerts.texts import Message, instant_text
from matins.domain.ports import Clock
from matins.domain.ports.status import StatusView, ToldFindings
from matins.domain.status.findings import Finding, FindingKind, SystemStatus, beside_channels
from matins.domain.status.telling import QUIET, FindingTurn, Key, as_told
from matins.domain.values.errors import UnavailableError
from matins.domain.values.ids import hashed_id
from matins.kernel.contact import Contact
from matins.kernel.service import repeat

EVERY_S: Final = 1.0
"""Looks are this far apart: the last judgement is kept, so that asking for it costs nothing."""

_TRY_S: Final = 20.0
"""The longest that sending may take: less than `telling.LEASE`."""

_AGAIN_S: Final = 5.0
"""What has not arrived is sent again after this, at the earliest."""

_ASK_S: Final = 2.0
"""The longest that rows may take to say who tells it."""

Notify = Callable[[UUID, Message], Awaitable[None]]
"""Sends a message of that name. Raises UndeliveredError."""

Answer = TypeVar("Answer")

log = structlog.get_logger()


class _News(NamedTuple):
    """An edge that operators may have to be told, and the turn that it is in rows."""

    edge: Edge
    turn: FindingTurn


class OperatorAlerts:
    """Looks at the findings, and sends what is new of them. See `kernel.service.Service`."""

    def __init__(
        self,
        system: StatusView,
        told: ToldFindings,
        notify: Notify,
        clock: Clock,
        settle_s: float = 0.0,
    ) -> None:
        """In the first `settle_s` nothing is told: what was down as a whole is just starting."""
        self._system = system
        self._told = told
        self._notify = notify
        self._clock = clock
        self._from_s = clock.elapsed_s() + settle_s
        self._again_s = 0.0
        self._stopping = asyncio.Event()
        self._contact = Contact(clock.elapsed_s, "operators.undelivered", "operators.delivered")
        self._standings: dict[Key, RuleStanding] = {}
        self._waiting: dict[Key, _News] = {}
        """The last edge of each finding, until it is known to be told."""
        self._found: dict[Key, tuple[Finding, datetime]] = {}
        """What was found lately, and when that was last."""
        self._alone: set[Key] = set()
        """What this process has found bad and told without asking rows."""

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
        status = await self._system.status()
        found = {finding.key: finding for finding in beside_channels(status)}
        can_ask = not any(kind is FindingKind.DATABASE for kind, _ in found)
        self._found |= {key: (finding, status.judged_at) for key, finding in found.items()}
        for key, (_, found_at) in list(self._found.items()):
            if status.judged_at - found_at >= QUIET:
                del self._found[key]
        if can_ask:
            await self._learn(found)
        self._compare(status)
        if self._clock.elapsed_s() < self._again_s:
            return
        for turn in (Turn.BAD, Turn.FLAPPING, Turn.WELL):
            turned = [news for news in self._waiting.values() if news.edge.turn is turn]
            taken = await self._take(turned, can_ask=can_ask)
            to_send = [news for news in turned if news.turn.key in taken | self._alone]
            if to_send and not await self._send(turn, to_send, taken):
                return

    async def _learn(self, found: Collection[Key]) -> None:
        """Hear what all APIs have told, also while this one was not there."""
        bad = await self._asked(self._told.bad(found))
        if bad is None:
            return
        for key in {*bad, *self._standings} - self._waiting.keys() - self._alone:
            standing = as_told(self._standings.get(key), bad.get(key), is_found=key in self._found)
            if standing is not None:
                self._standings[key] = standing

    def _compare(self, status: SystemStatus) -> None:
        """Compare what is found with what was told."""
        for key in {**self._standings, **self._found}:
            before, (finding, _) = self._standings.get(key), self._found.get(key, (None, None))
            level = _level(finding, before, status)
            self._standings[key], edge = step(before, level, status.judged_at)
            if edge is not None:
                is_bad = edge.turn is not Turn.WELL
                turn = FindingTurn(key, is_bad, status.judged_at, level.reason)
                self._waiting[key] = _News(edge, turn)

    async def _take(self, turned: Sequence[_News], *, can_ask: bool) -> set[Key]:
        """Return what of it this process is to tell by the rows; without them it is told alone."""
        asked = [news.turn for news in turned if news.turn.key not in self._alone]
        if not asked:
            return set()
        answer = await self._asked(self._told.take(asked)) if can_ask else None
        if answer is None:
            self._alone |= {turn.key for turn in asked}
            return set()
        for key in answer.settled:
            del self._waiting[key]
        return answer.taken

    async def _send(self, turn: Turn, to_send: Sequence[_News], taken: Collection[Key]) -> bool:
        """Send it; return whether it has arrived."""
        edges = [news.edge for news in to_send]
        name, message = _name(edges), _message(turn, edges)
        try:
            async with asyncio.timeout(_TRY_S):
                await self._notify(name, message)
        except (TimeoutError, UndeliveredError) as error:
            self._contact.failed(str(error) or f"no answer within {_TRY_S:g} s", delivery=str(name))
            self._again_s = self._clock.elapsed_s() + _AGAIN_S
            if taken:
                await self._asked(self._told.release(taken))
            return False
        self._contact.worked()
        for news in to_send:
            del self._waiting[news.turn.key]
            if turn is Turn.WELL:
                self._alone.discard(news.turn.key)
        if taken:
            await self._asked(self._told.told(taken, is_bad=turn is not Turn.WELL))
        return True

    async def _asked(self, question: Awaitable[Answer]) -> Answer | None:
        """Return the answer of rows; None if there is none, whatever the reason."""
        try:
            async with asyncio.timeout(_ASK_S):
                return await question
        except (TimeoutError, UnavailableError):
            return None
        except Exception:  # operators are told rather twice than not at all
            log.exception("operators.not_shared")
            return None


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
