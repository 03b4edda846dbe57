"""Alerts in simulated APIs: what looks, what delivers, and who receives."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple
from uuid import UUID

from matins.alerts.channels import Outgoing, UndeliveredError
from matins.alerts.delivering import DeliveryService
from matins.alerts.watching import AlertWatch
from matins.domain.alerts.channels import Secrets
from matins.domain.alerts.deliveries import Sent, Taken
from matins.domain.alerts.judging import Judged, Subject
from matins.domain.ports.alerts import Announcement, Lookout, Outbox
from matins.kernel.sealing import Sealer
from matins.kernel.service import Service
from matins.owners.alert_rules import TeamRules
from matins.owners.channels import Channels
from matins.owners.checkins import Checkins
from matins.testing.alert_checks import AlertChecker
from matins.testing.memory.channels import MemoryChannels, MemoryTeamRules
from matins.testing.memory.checkins import MemoryCheckins
from matins.testing.memory.faulty import Process, faulty
from matins.testing.memory.sessions import SessionLocks
from matins.testing.memory.world import World

SEALER: Final = Sealer(["5e" * 32])

_EVERY_S: Final = 2.0
"""How often a simulated API sends what is due."""

_REFUSES: Final = 0.08
_UNANSWERED: Final = 0.05
_SLOW: Final = 0.05
"""How often a receiver takes nothing, or takes it and does not answer in time, or not at all."""


class AlertDesk(NamedTuple):
    """What owners do to alerts."""

    channels: Channels
    rules: TeamRules
    checkins: Checkins


def alert_desk(world: World, process: Process) -> AlertDesk:
    """Return what an API does about alerts for owners."""
    return AlertDesk(
        Channels(faulty(MemoryChannels(world), process), SEALER, process.rng, _no_fault),
        TeamRules(faulty(MemoryTeamRules(world), process)),
        Checkins(faulty(MemoryCheckins(world), process), process.rng),
    )


def alerting(
    lookout: Lookout, outbox: Outbox, world: World, process: Process, checker: AlertChecker
) -> list[Service]:
    """Return what of an API finds out which jobs are bad, and tells their owners."""
    looks = faulty(_WatchedLookout(lookout, checker), process)
    messages = _WatchedOutbox(faulty(outbox, process), process, checker)
    send = partial(_send, process, checker)
    clock, locks = process.clock, SessionLocks(world, process)
    return [
        AlertWatch(looks, messages, locks, clock, 5.0),
        DeliveryService(messages, SEALER, {"webhook": send, "apprise": send}, clock, _EVERY_S),
    ]


class _WatchedLookout:
    """Tells the checker of all that is written of looks."""

    def __init__(self, lookout: Lookout, checker: AlertChecker) -> None:
        self._lookout = lookout
        self._checker = checker
        self.wake = lookout.wake
        self.due = lookout.due

    async def write(
        self, looked: Sequence[tuple[Subject, Judged]], announcements: Sequence[Announcement]
    ) -> set[UUID]:
        """See `domain.ports.alerts.Lookout`."""
        written = await self._lookout.write(looked, announcements)
        self._checker.looked(looked, announcements, written)
        return written


class _WatchedOutbox:
    """Tells the checker of what a process wants to be recorded, come what may."""

    def __init__(self, outbox: Outbox, process: Process, checker: AlertChecker) -> None:
        self._outbox = outbox
        self._process = process
        self._checker = checker
        self.content = outbox.content
        self.purge = outbox.purge

    async def take(self, limit: int, lease_s: float) -> list[Taken]:
        """See `domain.ports.alerts.Outbox`."""
        freezes = self._process.clock.freezes
        found = await self._outbox.take(limit, lease_s)
        for taken in found:
            self._checker.took(taken, self._process, freezes)
        return found

    async def record(self, taken: Taken, sent: Sent) -> bool:
        """See `domain.ports.alerts.Outbox`."""
        self._checker.recording(taken, sent, self._process)
        is_done = await self._outbox.record(taken, sent)
        self._checker.recorded(taken, self._process, is_done=is_done)
        return is_done


async def _no_fault(_url: str) -> str:
    return ""


async def _send(
    process: Process, checker: AlertChecker, secrets: Secrets, outgoing: Outgoing
) -> None:
    """Be a receiver: mostly one that takes a message and says so."""
    rng, is_troubled = process.rng, process.rates.fail_after > 0
    fate = rng.random() if is_troubled else 1.0
    await asyncio.sleep(rng.uniform(0.01, 1))
    await process.clock.gate()
    if fate < _REFUSES:
        raise UndeliveredError("the receiver refuses it")
    checker.received(secrets, outgoing, process)
    if fate < _REFUSES + _UNANSWERED:
        raise UndeliveredError("the receiver did not answer")
    if fate < _REFUSES + _UNANSWERED + _SLOW:
        await asyncio.sleep(rng.uniform(10, 40))
    await process.clock.gate()
