"""Leases on partitions, in PostgreSQL. See `domain.ports.Leases` for the contract."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from uuid import UUID

import msgspec

from matins.domain.runs.cluster import NO_FIGURES, Figures, Offer
from matins.domain.values.errors import UnavailableError
from matins.domain.values.lineage import went_back
from matins.store.database import Database
from matins.store.queries import load_queries

_Q = load_queries("leases.sql")


class PostgresLeases:
    """Leases in the table of schedulers; their terms run by the database's clock."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._renewed: dict[UUID, datetime] = {}
        """What each holder's row said when it was last known to be written."""

    def renewed_at(self, holder: UUID) -> datetime | None:
        """Return when the holder's lease was last renewed, as the database has told."""
        return self._renewed.get(holder)

    async def renew(
        self,
        holder: UUID,
        epochs: Mapping[int, int],
        watermark: datetime | None,
        ttl_s: float,
        figures: Figures = NO_FIGURES,
    ) -> set[int]:
        """See `domain.ports.Leases`."""
        row = await self._database.fetchrow(
            _Q["renew"],
            holder=holder,
            partitions=list(epochs),
            epochs=list(epochs.values()),
            watermark=watermark,
            ttl_s=ttl_s,
            **msgspec.structs.asdict(figures),
        )
        assert row is not None
        # A restore in place: no session hears of it, only this row is older than it was.
        if went_back(self._renewed.get(holder), row["renewed_before"]):
            self._database.server.begin_era("the lease is older than it was")
            raise UnavailableError("PostgreSQL: the database has gone back in time")
        self._renewed[holder] = row["renewed_at"]
        return set(row["kept"])

    async def acquire(self, holder: UUID, count: int, ttl_s: float) -> dict[int, int]:
        """See `domain.ports.Leases`."""
        renewed_at = self._renewed.pop(holder, None)  # unknown until the answer is there
        rows = await self._database.fetch(_Q["acquire"], holder=holder, count=count, ttl_s=ttl_s)
        if rows:
            renewed_at = rows[0]["renewed_at"]
        if renewed_at is not None:
            self._renewed[holder] = renewed_at
        return {row["partition"]: row["epoch"] for row in rows}

    async def release(self, holder: UUID, epochs: Mapping[int, int]) -> None:
        """See `domain.ports.Leases`."""
        renewed_at = self._renewed.pop(holder, None)  # with the last partition the row goes, too
        row = await self._database.fetchrow(
            _Q["release"],
            holder=holder,
            partitions=list(epochs),
            epochs=list(epochs.values()),
        )
        if renewed_at is not None and row and not row["is_last"]:
            self._renewed[holder] = renewed_at

    async def offer(
        self, holder: UUID, partitions: Collection[int], ttl_s: float, *, leaving: bool
    ) -> Offer:
        """See `domain.ports.Leases`."""
        row = await self._database.fetchrow(
            _Q["offer"], holder=holder, partitions=list(partitions), ttl_s=ttl_s, leaving=leaving
        )
        assert row is not None
        return Offer(set(row["ready"]), row["others"])

    async def reserve(
        self, holder: UUID, count: int, loaded: Collection[int], ttl_s: float
    ) -> dict[int, int]:
        """See `domain.ports.Leases`."""
        rows = await self._database.fetch(
            _Q["reserve"], holder=holder, count=count, loaded=list(loaded), ttl_s=ttl_s
        )
        return {row["partition"]: row["epoch"] for row in rows}

    async def retire(self, holder: UUID) -> None:
        """See `domain.ports.Leases`."""
        await self._database.fetch(_Q["retire"], holder=holder)

    async def count_alive(self, ttl_s: float) -> int:
        """See `domain.ports.Leases`."""
        row = await self._database.fetchrow(_Q["count_alive"], ttl_s=ttl_s)
        return row["alive"] if row else 0
