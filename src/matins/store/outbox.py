"""The outbox of alerts on PostgreSQL. See `domain.ports.alerts.Outbox`."""

from __future__ import annotations

from datetime import timedelta
from typing import Final
from uuid import UUID

import msgspec

from matins.domain.alerts.deliveries import Notice, Sent, Taken
from matins.domain.alerts.edges import Turn
from matins.domain.alerts.texts import DETAILED_MAX, Detail, instant_text
from matins.domain.ports.alerts import Content
from matins.domain.values.ids import due_of
from matins.store.database import Database
from matins.store.job_rows import as_json
from matins.store.past import around
from matins.store.queries import load_queries
from matins.store.revisions import changes_since

_Q = load_queries("outbox.sql")

READ_MOST: Final = 500
"""The most notices that a message names."""

CHANGES_MOST: Final = 5
"""So many changes of a job it tells, the newest."""


class PostgresOutbox:
    """Messages of all teams."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def take(self, limit: int, lease_s: float) -> list[Taken]:
        """See `domain.ports.alerts.Outbox`."""
        lease = timedelta(seconds=lease_s)
        rows = await self._database.fetch(_Q["take"], limit=limit, lease=lease)
        return [Taken(**dict(row)) for row in rows]

    async def content(self, delivery: UUID) -> Content:
        """See `domain.ports.alerts.Outbox`."""
        rows = await self._database.fetch(_Q["notices"], id=delivery, limit=READ_MOST)
        notices = [_notice(dict(row)) for row in rows]
        details = [await self._detail(notice) for notice in notices[:DETAILED_MAX]]
        return Content(notices, rows[0]["count"] if rows else 0, details)

    async def record(self, taken: Taken, sent: Sent) -> bool:
        """See `domain.ports.alerts.Outbox`."""
        row = await self._database.fetchrow(
            _Q["record"],
            id=taken.id,
            channel_id=taken.channel_id,
            tries=taken.tries,
            state=sent.state,
            error=sent.last_try.error,
            wait=timedelta(seconds=sent.wait_s),
            last_try=as_json([sent.last_try]),
        )
        return row is not None

    async def purge(self, older_than_s: float, limit: int) -> int:
        """See `domain.ports.alerts.Outbox`."""
        older = timedelta(seconds=older_than_s)
        return len(await self._database.fetch(_Q["purge"], older=older, limit=limit))

    async def _detail(self, notice: Notice) -> Detail:
        """Return what a message tells of a job beyond the notice itself."""
        if notice.turn is Turn.WELL:
            return Detail()
        changed = await self._changed(notice.job_id)
        if notice.run_id is None:
            return Detail(changed=changed)
        due_at = due_of(notice.run_id)
        query = around(due_at, due_at).pin(_Q["ended"])
        row = await self._database.fetchrow(query, run_id=notice.run_id, due_at=due_at)
        if row is None:
            return Detail(changed=changed)
        return Detail(row["output"], changed, row["is_dead_letter"])

    async def _changed(self, job_id: UUID) -> list[str]:
        """Return what was changed of a job since its last success that is known."""
        row = await self._database.fetchrow(_Q["good_until"], job_id=job_id)
        if row is None or row["good_until"] is None:
            return []
        span = row["good_until"], row["now"]
        changes = await changes_since(self._database, job_id, *span, CHANGES_MOST)
        return [change.words(instant_text(change.at)) for change in changes]


def _notice(row: dict[str, object]) -> Notice:
    row.pop("count")
    return msgspec.convert(row, Notice)
