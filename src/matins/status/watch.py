"""Looking at the whole system every few seconds, and keeping what was found."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Final

import structlog

from matins.domain.ports import Clock
from matins.domain.ports.status import Probe, StatusReads
from matins.domain.status.facts import SystemFacts
from matins.domain.status.findings import SystemStatus
from matins.domain.status.judging import Outage, Sight, judge
from matins.domain.values.errors import UnavailableError
from matins.kernel.service import pause
from matins.status.figures import show

log = structlog.get_logger()

LOOK_S: Final = 4.0
"""The longest that the database may take to answer a look."""


class StatusWatch:
    """Looks from the outside: at rows, at the database's clock, and at whether the engines answer.

    A `domain.ports.status.StatusView`, and a `kernel.service.Service`. Who asks between two looks
    gets the last judgement; where the loop has been held up, a new one.
    """

    def __init__(
        self,
        reads: StatusReads,
        cache: Probe,
        clock: Clock,
        *,
        outputs: Probe | None = None,
        every_s: float,
        report_after_s: float,
    ) -> None:
        self._reads = reads
        self._cache = _Probed(cache)
        self._outputs = _Probed(outputs)
        self._clock = clock
        self._every_s = every_s
        self._report_after = timedelta(seconds=report_after_s)
        self._first_at: datetime | None = None
        self._facts: SystemFacts | None = None
        self._read_s = 0.0
        self._looked_s = 0.0
        self._status: SystemStatus | None = None
        self._looking = asyncio.Lock()
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Look until `stop`."""
        while not self._stopping.is_set():
            async with self._looking:
                await self._look()
            await pause(self._every_s, self._clock, self._stopping)

    async def stop(self) -> None:
        """See `kernel.service.Service`."""
        self._stopping.set()

    async def status(self) -> SystemStatus:
        """See `domain.ports.status.StatusView`."""
        if (known := self._known()) is not None:
            return known
        async with self._looking:
            return self._known() or await self._look()

    def _known(self) -> SystemStatus | None:
        """Return the last judgement, unless it is older than two turns."""
        age_s = self._clock.elapsed_s() - self._looked_s
        return self._status if age_s < 2 * self._every_s else None

    async def _look(self) -> SystemStatus:
        database = await self._read()
        now = self._now(is_away=database is not None)
        cache, outputs = await asyncio.gather(self._cache.look(now), self._outputs.look(now))
        self._first_at = self._first_at or now
        sight = Sight(now, self._first_at, self._facts, database, cache, outputs)
        status = judge(sight, self._report_after)
        _log_changes(self._status, status)
        show(status, has_answered=database is None)
        self._status, self._looked_s = status, self._clock.elapsed_s()
        return status

    async def _read(self) -> Outage | None:
        """Read the facts; return since when that can't be done, and the reason."""
        try:
            async with asyncio.timeout(LOOK_S):
                self._facts = await self._reads.facts(self._report_after)
        except TimeoutError:
            reason = f"it did not answer within {LOOK_S:g} s"
        except UnavailableError as error:
            reason = str(error).removeprefix("PostgreSQL: ")
        except Exception as error:  # a look that fails must not look like one that finds nothing
            log.exception("status.not_read")
            reason = f"{type(error).__name__}: {error}"
        else:
            self._read_s = self._clock.elapsed_s()
            return None
        return Outage(None if self._facts is None else self._facts.now, reason)

    def _now(self, *, is_away: bool) -> datetime:
        """Return the database's time; while it is away, as much later as has passed since here."""
        if self._facts is None:
            return self._clock.now()
        away_s = self._clock.elapsed_s() - self._read_s if is_away else 0.0
        return self._facts.now + timedelta(seconds=away_s)


class _Probed:
    """Something that may be there, and since when it can't be used."""

    def __init__(self, probe: Probe | None) -> None:
        self._probe = probe
        self._outage: Outage | None = None

    async def look(self, now: datetime) -> Outage | None:
        """Probe it."""
        fault = await self._probe.fault() if self._probe else ""
        since = now if self._outage is None else self._outage.since
        self._outage = Outage(since, fault) if fault else None
        return self._outage


def _log_changes(before: SystemStatus | None, status: SystemStatus) -> None:
    """Write into the log what begins and what is over."""
    known = {} if before is None else {finding.key: finding for finding in before.findings}
    for finding in status.findings:
        if known.pop(finding.key, None) is None:
            log.error(
                "status.wrong",
                kind=finding.kind,
                subject=finding.subject,
                since=finding.since and finding.since.isoformat(),
                what=finding.what,
                remedy=finding.remedy,
            )
    for kind, subject in known:
        log.info("status.well_again", kind=kind, subject=subject)
