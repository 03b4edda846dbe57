"""The scheduler's side of chains, in PostgreSQL. See `domain.ports.Agenda`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from uuid import UUID

import asyncpg
import msgspec

from matins.domain.runs.admission.waiting import CLAIM, TO_BE_ADMITTED, Waiting
from matins.domain.runs.chains import UPSTREAM, Link, LinkPage
from matins.domain.runs.claims import Claimed
from matins.domain.runs.states import Kind
from matins.domain.values.errors import UnavailableError
from matins.domain.values.ids import run_id
from matins.store.columns import fence_columns
from matins.store.database import Database
from matins.store.queries import load_queries

_Q = load_queries("chains.sql")
_HINTS = load_queries("hints.sql")
_FIRST = UUID(int=0)

PAGE = 200
"""The most chains of a page."""

AGAIN = 1_000
"""The most that is looked at again in one look."""


class ChainStatements:
    """Finds what chains wait for, and lets them go on."""

    def __init__(self, reads: Database) -> None:
        self._reads = reads

    async def links(self, partitions: Collection[int], after: UUID | None = None) -> LinkPage:
        """See `domain.ports.Agenda`."""
        wanted = list(partitions)
        rows = await self._reads.fetch(
            _Q["links"], partitions=wanted, after=after or _FIRST, limit=PAGE
        )
        links = list(links_of(rows))
        if after is None and rows[0]["has_again"]:
            again = await self._reads.fetch(_Q["links_again"], partitions=wanted, limit=AGAIN)
            links += links_of(again, is_again=True)
        count = rows[0]["chain_count"]
        return LinkPage(links, None if count < PAGE else rows[0]["last"], count > 0)

    async def advance_chains(self, partitions: Collection[int]) -> None:
        """See `domain.ports.Agenda`."""
        await self._reads.fetch(_Q["advance_chains"], partitions=list(partitions))

    async def revive(
        self, holder: UUID, epochs: Mapping[int, int], links: Sequence[Link], starts: Sequence[bool]
    ) -> Claimed:
        """See `domain.ports.Agenda`."""
        wanted = {link.partition for link in links}
        row = await self._reads.fetchrow(
            _Q["revive"],
            holder=holder,
            run_ids=[run_id(link.job_id, link.due_at, Kind.CHAINED) for link in links],
            job_ids=[link.job_id for link in links],
            run_partitions=[link.partition for link in links],
            due_ats=[link.due_at for link in links],
            starts=list(starts),
            reason=TO_BE_ADMITTED,
            skipped_for=UPSTREAM,
            **fence_columns(wanted, epochs),
        )
        assert row is not None
        columns = ("asked", "asked_partitions", "asked_ready_ats", "asked_team_ids")
        places: Iterator[tuple[UUID, int, datetime, int]] = zip(
            *(row[column] for column in columns), strict=True
        )
        return Claimed(
            made=set(row["made"]),
            refused=wanted.difference(row["fenced"]),
            waiting=[Waiting(*place, CLAIM) for place in places],
        )


async def wake_followers(database: Database) -> None:
    """Let schedulers look at the chains that follow what has just ended. What is lost of that,
    their polls find a little later.
    """
    with suppress(UnavailableError):
        await database.fetch(_HINTS["send"], channel="matins_chains", words=[""])


def links_of(rows: Iterable[asyncpg.Record], *, is_again: bool = False) -> Iterator[Link]:
    """Return the links that rows tell of; what of a page has none is left out."""
    for row in rows:
        if row["job_id"] is not None:
            fields = {name: row[name] for name in row.keys() if name not in _ASIDE}  # noqa: SIM118
            fields |= {"upstream": msgspec.json.decode(row["upstream"]), "is_again": is_again}
            yield msgspec.convert(fields, Link)


_ASIDE = {"chain_count", "last", "has_again"}
