"""Whether all is well, as everybody else asks for it. See `domain.status`."""

from __future__ import annotations

from datetime import timedelta
from typing import Protocol

from matins.domain.status.facts import SystemFacts
from matins.domain.status.findings import SystemStatus
from matins.domain.status.tallies import Tally


class StatusReads(Protocol):
    """What the rows say of the whole system."""

    async def facts(self, late: timedelta) -> SystemFacts:
        """Read it all, now. What is longer ago than `late` is overdue, or silent.

        Raises UnavailableError where nothing can be read, and where nothing can be written.
        """


class Probe(Protocol):
    """Whether something beside PostgreSQL can be used: Valkey, or the place of whole outputs."""

    async def fault(self) -> str:
        """Return why nothing can be kept in it now; empty while it can. Soon, and never raises."""


class StatusView(Protocol):
    """The whole system as this process judges it: for those who tell people, or tell them that all
    is well.
    """

    async def status(self) -> SystemStatus:
        """Return the last judgement, seconds old at most. Never raises: that nothing can be seen is
        a finding too.
        """


class TallyBook(Protocol):
    """Where all processes tell what has happened in the present minute."""

    async def add(self, tally: Tally) -> None:
        """Add to the present minute. Raises UnavailableError: then it may be in it or not."""
