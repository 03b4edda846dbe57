"""The outbox of alerts in memory. See `domain.ports.alerts.Outbox`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec

from matins.domain.alerts.deliveries import Notice, Sent, Taken
from matins.domain.alerts.edges import Turn
from matins.domain.alerts.texts import DETAILED_MAX, Detail
from matins.domain.ports.alerts import Content
from matins.testing.memory.alert_rows import DeliveryRow
from matins.testing.memory.world import World

_READ_MOST: Final = 500


class MemoryOutbox:
    """The messages of a world. Of the output of runs nothing is kept in memory."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def take(self, limit: int, lease_s: float) -> list[Taken]:
        """See `domain.ports.alerts.Outbox`."""
        now, tables = self._world.now(), self._world.alerts
        taken = []
        for row in list(self._due(now))[:limit]:
            channel = tables.channels[row.channel_id]
            tables.put(replace(channel, taken_until=now + timedelta(seconds=lease_s)))
            tables.put(replace(row, is_open=False))
            taken.append(
                Taken(
                    id=row.id,
                    channel_id=channel.id,
                    channel=channel.name,
                    channel_kind=channel.kind,
                    sealed=channel.sealed,
                    team=row.team,
                    kind=row.kind,
                    made_at=row.made_at,
                    taken_at=now,
                    tries=len(row.tries),
                )
            )
        return taken

    async def content(self, delivery: UUID) -> Content:
        """See `domain.ports.alerts.Outbox`."""
        notices = [self._named(notice) for notice in self._world.alerts.notices_of(delivery)]
        notices.sort(key=lambda notice: (notice.at, notice.job, notice.rule))
        details = [self._detail(notice) for notice in notices[:DETAILED_MAX]]
        return Content(notices[:_READ_MOST], len(notices), details)

    async def record(self, taken: Taken, sent: Sent) -> bool:
        """See `domain.ports.alerts.Outbox`."""
        now, tables = self._world.now(), self._world.alerts
        row = tables.deliveries.get(taken.id)
        if row is None or row.state != "waiting" or len(row.tries) != taken.tries:
            return False
        tables.put(
            replace(
                row,
                tries=(*row.tries, sent.last_try),
                state=sent.state,
                send_at=now + timedelta(seconds=sent.wait_s),
                ended_at=None if sent.state == "waiting" else now,
            )
        )
        channel, error = tables.channels[row.channel_id], sent.last_try.error
        tables.put(
            replace(
                channel,
                taken_until=None,
                delivered_at=channel.delivered_at if error else now,
                failing_since=(channel.failing_since or now) if error else None,
                failure=error,
            )
        )
        return True

    async def purge(self, older_than_s: float, limit: int) -> int:
        """See `domain.ports.alerts.Outbox`."""
        before = self._world.now() - timedelta(seconds=older_than_s)
        rows = self._world.alerts.deliveries.values()
        old = [row.id for row in rows if row.ended_at is not None and row.ended_at < before]
        for delivery in old[:limit]:
            self._world.alerts.delete_delivery(delivery)
        return len(old[:limit])

    def _due(self, now: datetime) -> Iterator[DeliveryRow]:
        """Yield the first message that is due of each channel to which nobody sends."""
        tables = self._world.alerts
        waiting = [row for row in tables.deliveries.values() if row.state == "waiting"]
        waiting.sort(key=lambda row: (row.channel_id, row.send_at, row.id))
        seen: set[int] = set()
        for row in waiting:
            if row.send_at > now or row.channel_id in seen:
                continue
            seen.add(row.channel_id)
            taken_until = tables.channels[row.channel_id].taken_until
            if taken_until is None or taken_until <= now:
                yield row

    def _named(self, notice: Notice) -> Notice:
        return msgspec.structs.replace(notice, job=self._world.jobs[notice.job_id].spec.name)

    def _detail(self, notice: Notice) -> Detail:
        if notice.turn is Turn.WELL or notice.run_id is None:
            return Detail()
        return Detail(is_dead_letter=self._world.dead_letters.has_open(notice.run_id))
