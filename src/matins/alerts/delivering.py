"""Delivers messages: each try under a deadline, one at a time for each channel."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec
import structlog

from matins.alerts.channels import Outgoing, Senders, UndeliveredError
from matins.domain.alerts.channels import Secrets
from matins.domain.alerts.deliveries import Taken
from matins.domain.alerts.texts import message
from matins.domain.ports import Clock
from matins.domain.ports.alerts import Outbox
from matins.domain.values.errors import MatinsError, UnavailableError
from matins.kernel.contact import Contact
from matins.kernel.metrics import DELIVERIES
from matins.kernel.sealing import SealedError, Sealer
from matins.kernel.service import repeat

AT_ONCE: Final = 20
"""The most messages that a process sends at one time."""

DEADLINE_S: Final = 20.0
"""The longest that a try may take."""

LEASE_S: Final = 60.0
"""For so long a channel is ours: longer than a try, and what is written of it."""

log = structlog.get_logger()


class DeliveryService:
    """Sends what is due, as long as there is room. See `kernel.service.Service`."""

    def __init__(
        self,
        outbox: Outbox,
        sealer: Sealer,
        senders: Senders,
        clock: Clock,
        every_s: float,
    ) -> None:
        self._outbox = outbox
        self._sealer = sealer
        self._senders = senders
        self._clock = clock
        self._every_s = every_s
        self._stopping = asyncio.Event()
        self._sending: set[asyncio.Task[None]] = set()
        self._contact = Contact(clock.elapsed_s, "delivery.unavailable", "delivery.available")

    async def run(self) -> None:
        """Work until stopped; what is being sent then is waited for."""
        await repeat(self.take, self._every_s, self._clock, self._stopping, name="deliveries")
        await self.settle()

    async def stop(self) -> None:
        """End soon."""
        self._stopping.set()

    async def take(self) -> None:
        """Begin to send what is due, as far as there is room."""
        room = AT_ONCE - len(self._sending)
        if room <= 0:
            return
        for taken in await self._outbox.take(room, LEASE_S):
            task = asyncio.create_task(self._deliver(taken))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def settle(self) -> None:
        """Wait until all that was begun is over."""
        if self._sending:
            await asyncio.wait(self._sending)

    async def _deliver(self, taken: Taken) -> None:
        begun_s = self._clock.elapsed_s()
        try:
            error = await self._try(taken)
            sent = taken.after(error, self._clock.elapsed_s() - begun_s)
            await self._outbox.record(taken, sent)
            self._contact.worked()
        except UnavailableError as unavailable:  # it is sent again under its name
            self._contact.failed(unavailable, delivery=str(taken.id))
            return
        except Exception:  # a mistake of ours: the others are delivered all the same
            log.exception("delivery.failed", delivery=str(taken.id))
            return
        DELIVERIES.labels(taken.channel_kind, "failed" if error else "delivered").inc()
        if error:
            log.warning(
                "delivery.undelivered", channel=f"{taken.team}/{taken.channel}", error=error
            )

    async def _try(self, taken: Taken) -> str:
        """Send a message; return why it has not arrived, if it has not."""
        try:
            secrets = self._secrets(taken)
            notices, total, details = await self._outbox.content(taken.id)
            text = message(taken.kind, taken.team, notices, total, details)
            outgoing = Outgoing(taken, text, notices, total)
            async with asyncio.timeout(DEADLINE_S):
                await self._senders[taken.channel_kind](secrets, outgoing)
        except UnavailableError:
            raise
        except TimeoutError:
            return f"no answer within {DEADLINE_S:g} s"
        except (UndeliveredError, SealedError, MatinsError) as error:
            return str(error) or type(error).__name__
        return ""

    def _secrets(self, taken: Taken) -> Secrets:
        secrets = msgspec.json.decode(self._sealer.open(taken.sealed), type=Secrets)
        if (secrets.team, secrets.name) != (taken.team, taken.channel):
            raise SealedError(f"what is stored of it belongs to {secrets.team}/{secrets.name}")
        return secrets
