"""Telling what this process has counted, so that all processes together can be looked at."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from matins.domain.ports import Clock
from matins.domain.ports.status import TallyBook
from matins.domain.runs.states import Outcome, RunState
from matins.domain.status.tallies import Tally
from matins.domain.values.errors import UnavailableError
from matins.kernel import metrics
from matins.kernel.metrics import count_of
from matins.kernel.service import repeat

log = structlog.get_logger()

TELL_S: Final = 5.0
"""How often it is told what was counted."""

LAST_S: Final = 2.0
"""For so long a process that is stopped tries to tell the rest."""


class Tallying:
    """Adds what the metrics of this process have risen by to the minute that it is.

    A `kernel.service.Service`. Where the answer is lost it is told again, so that the counts of
    some seconds may stand there twice; those of a process that is killed are missing.
    """

    def __init__(self, book: TallyBook, clock: Clock) -> None:
        self._book = book
        self._clock = clock
        self._told = counted()
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Tell until `stop`, and then once more."""
        await repeat(self.tell, TELL_S, self._clock, self._stopping, name="status.tally")
        try:
            async with asyncio.timeout(LAST_S):
                await self.tell()
        except (UnavailableError, TimeoutError) as error:
            log.info("status.tally_lost", error=str(error))

    async def stop(self) -> None:
        """See `kernel.service.Service`."""
        self._stopping.set()

    async def tell(self) -> None:
        """Tell what was not told yet. Raises UnavailableError."""
        now = counted()
        more = now.plus(self._told, -1)
        try:
            if more != Tally():
                await self._book.add(more)
        except UnavailableError:
            raise
        except Exception:  # figures that can't be told must not end what they are about
            log.exception("status.not_tallied")
        else:
            self._told = now


def counted() -> Tally:
    """Return what this process has counted since it began."""
    skipped = count_of(metrics.CLAIMED, state=RunState.SKIPPED)
    succeeded = count_of(metrics.RECORDED, outcome=Outcome.SUCCEEDED)
    cancelled = count_of(metrics.RECORDED, outcome=Outcome.CANCELLED)
    return Tally(
        claimed=count_of(metrics.CLAIMED) - skipped,
        skipped=count_of(metrics.SKIPPED),
        missed=count_of(metrics.SKIPPED, reason="misfire"),
        started=count_of(metrics.HANDED_OUT),
        succeeded=succeeded,
        failed=count_of(metrics.RECORDED) - succeeded - cancelled,
        dead=count_of(metrics.RUNS_DEAD),
        lags=metrics.START_LAG.counts(),
    )
