"""Looks at jobs and writes what is to be told: one process at a time, whoever it is."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

import structlog

from matins.domain.alerts.deliveries import Notice
from matins.domain.alerts.edges import edge_id
from matins.domain.alerts.judging import Judged, Subject, judge, named_for, put_off
from matins.domain.ports import Clock
from matins.domain.ports.alerts import Announcement, Lookout, Outbox
from matins.domain.ports.upkeep import Locks
from matins.kernel.metrics import ALERTS
from matins.kernel.service import repeat

WORK: Final = "alerts"
"""The lock under which one process looks."""

PAGE: Final = 200
"""The most jobs that are looked at in one transaction. With their runs they are read in 20 ms, for
which this event loop serves nobody else.
"""

PURGE: Final = 1_000
KEPT_S: Final = 30 * 86400.0
"""For so long deliveries are kept that have ended."""

_SLICE: Final = 50
"""The most jobs that are judged before the process yields to the event loop."""

log = structlog.get_logger()


class AlertWatch:
    """Looks at the jobs that are due for it. See `kernel.service.Service`."""

    def __init__(
        self, lookout: Lookout, outbox: Outbox, locks: Locks, clock: Clock, every_s: float
    ) -> None:
        self._lookout = lookout
        self._outbox = outbox
        self._locks = locks
        self._clock = clock
        self._every_s = every_s
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Work until stopped."""
        await repeat(self.look, self._every_s, self._clock, self._stopping, name="alerts")

    async def stop(self) -> None:
        """End soon."""
        self._stopping.set()

    async def look(self) -> int:
        """Look at all jobs that are due for it, unless another process does; return how many.

        Where that takes long, or has no end since many are bad, what happened meanwhile is not left
        out.
        """
        async with self._locks.alone(WORK) as is_alone:
            if not is_alone:
                return 0
            seen, woken_s = 0, -self._every_s
            while not self._stopping.is_set():
                if self._clock.elapsed_s() - woken_s >= self._every_s:
                    woken_s = self._clock.elapsed_s()
                    await self._lookout.wake()
                subjects = await self._lookout.due(PAGE)
                seen += await self._judge(subjects)
                if len(subjects) < PAGE:
                    break
            await self._outbox.purge(KEPT_S, PURGE)
            return seen

    async def _judge(self, subjects: Sequence[Subject]) -> int:
        looked: list[tuple[Subject, Judged]] = []
        for index, subject in enumerate(subjects):
            if index % _SLICE == _SLICE - 1:
                await self._clock.sleep(0)  # this event loop serves owners and executors, too
            looked.append((subject, _judged(subject)))
        announcements = [
            item for subject, judged in looked for item in _announcements(subject, judged)
        ]
        written = await self._lookout.write(looked, announcements)
        for item in announcements:
            if item.notice.job_id in written:
                ALERTS.labels(item.notice.on, item.notice.turn.value).inc()
        return len(written)


def _judged(subject: Subject) -> Judged:
    try:
        return judge(subject)
    except Exception:  # as of a schedule that raises: the others are judged all the same
        log.exception("alerts.not_judged", job=str(subject.facts.job_id))
        return put_off(subject)


def _announcements(subject: Subject, judged: Judged) -> list[Announcement]:
    """Return what is to be told of a job, to whom."""
    facts = judged.facts
    announcements = []
    for rule, edge in judged.edges:
        notice = Notice(
            job_id=facts.job_id,
            team=subject.team,
            job=facts.spec.name,
            rule=rule.key,
            turn=edge.turn,
            at=facts.now,
            since=edge.level.since,
            reason=edge.level.reason,
            run_id=edge.level.run_id,
        )
        named = named_for(rule, edge.turn, judged.rules)
        announcements.append(
            Announcement(edge_id(facts.job_id, rule.key, edge.number), named, notice)
        )
    return announcements
