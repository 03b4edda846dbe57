"""Keeps the ends of attempts until the gateway confirms them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from uuid import UUID

import msgspec
import structlog

from matins.domain.executors.protocol import End, Report
from matins.domain.runs.attempts import Result
from matins.domain.values.errors import InvalidInputError, MatinsError
from matins.executor.context import Context
from matins.kernel.metrics import GATEWAY_ERRORS, UNCONFIRMED
from matins.kernel.service import pause

log = structlog.get_logger()

REPORT_SIZE = 500
"""The most ends in one report; more gains nothing."""

REPORT_TEXT = 1_000_000
"""The most characters of output in one report, unless one end has more: the gateway's limit of
8 MiB is never reached."""

REPORTS_MAX = 2
"""How many reports are under way at once."""

WINDOW_S = 0.03
"""How long ends are gathered while a report of many is under way."""

FEW = 10
"""Beside a report of so few ends nothing is gathered: there is no load, and others may wait for
what the next end gives back.
"""

ENDS_MAX = 10_000
"""With so many unconfirmed ends no new work is taken."""

TEXT_MAX = 16_000_000
"""With so many characters of output unconfirmed, the output of further ends is left out."""


class ReportOutbox:
    """Reports ends at once when nothing is under way, otherwise in batches, until each is
    confirmed; `confirmed` is then called with them.
    """

    def __init__(
        self, context: Context, executor: UUID, confirmed: Callable[[Sequence[End]], None]
    ) -> None:
        self._context = context
        self._executor = executor
        self._confirmed = confirmed
        self._ends: deque[End] = deque()
        self._under_way = 0
        self._count = 0
        self._text = 0
        self._arrived = asyncio.Event()
        self._filled = asyncio.Event()
        self._answered = asyncio.Event()
        self.emptied = asyncio.Event()
        """Set while there is nothing to be confirmed."""
        self.emptied.set()

    @property
    def is_full(self) -> bool:
        """So much is unconfirmed that no new work should be taken."""
        return self._count >= ENDS_MAX

    def add(self, end: End) -> None:
        """Keep the end of an attempt until it is confirmed."""
        if self._text > TEXT_MAX and end.result.output:
            end = _without_output(end)
        self._text += len(end.result.output)
        self._count += 1
        self._ends.append(end)
        self._arrived.set()
        self.emptied.clear()
        if len(self._ends) >= REPORT_SIZE:
            self._filled.set()

    async def run(self) -> None:
        """Report, until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                await self._arrived.wait()
                await self._gather()
                ends = self._next_report()
                self._under_way += 1
                group.create_task(self._report(ends))

    async def _gather(self) -> None:
        while self._under_way >= REPORTS_MAX:
            self._answered.clear()
            await self._answered.wait()
        # When idle, report at once. Under load, wait a moment: one report then carries many ends.
        is_loaded = self._count - len(self._ends) > FEW
        if is_loaded and len(self._ends) < REPORT_SIZE:
            self._answered.clear()
            self._filled.clear()
            await pause(WINDOW_S, self._context.clock, self._answered, self._filled)

    def _next_report(self) -> list[End]:
        ends = [self._ends.popleft()]
        text = len(ends[0].result.output)
        while self._ends and len(ends) < REPORT_SIZE:
            text += len(self._ends[0].result.output)
            if text > REPORT_TEXT:
                break
            ends.append(self._ends.popleft())
        if not self._ends:
            self._arrived.clear()
        UNCONFIRMED.set(self._count)
        return ends

    async def _report(self, ends: list[End]) -> None:
        await self._send(ends)
        self._under_way -= 1
        self._answered.set()

    async def _send(self, ends: list[End]) -> None:
        """Repeat a report until it is answered."""
        failures = 0
        while True:
            try:
                answer = await self._context.link.report(Report(self._executor, ends))
            except InvalidInputError as error:
                await self._send_apart(ends, error)
                return
            except MatinsError as error:
                GATEWAY_ERRORS.inc()
                log.debug("report.failed", count=len(ends), error=str(error))
                failures += 1
                await self._context.back_off(failures)
            else:
                break
        if answer.superseded:
            log.info("ends.superseded", run_ids=[str(run_id) for run_id in answer.superseded])
        self._confirm(ends)

    async def _send_apart(self, ends: list[End], error: InvalidInputError) -> None:
        """Halve a refused report until the bad end stands alone; that one goes bare or not."""
        if len(ends) > 1:
            half = len(ends) // 2
            await self._send(ends[:half])
            await self._send(ends[half:])
            return
        [end] = ends
        log.error("end.refused", run_id=str(end.run_id), number=end.number, error=str(error))
        bare = Result(end.result.outcome, "its result was refused by the gateway")
        if end.result == bare:
            self._confirm(ends)
            return
        self._text -= len(end.result.output)
        await self._send([End(end.run_id, end.number, bare)])

    def _confirm(self, ends: list[End]) -> None:
        self._count -= len(ends)
        self._text -= sum(len(end.result.output) for end in ends)
        UNCONFIRMED.set(self._count)
        self._confirmed(ends)
        if not self._count:
            self.emptied.set()


def _without_output(end: End) -> End:
    note = "[output left out: too much was waiting for the gateway]"
    cut = end.result.output_cut + len(end.result.output)
    result = msgspec.structs.replace(end.result, output=note, output_cut=cut)
    return msgspec.structs.replace(end, result=result)
