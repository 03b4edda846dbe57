"""The scheduler's side of jobs and runs, in PostgreSQL. See `domain.ports.Agenda`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from uuid import UUID

import asyncpg
import msgspec

from matins.domain.jobs.authors import ENGINE
from matins.domain.jobs.misfire import Misfire
from matins.domain.jobs.spec import JobState
from matins.domain.runs.chains import Link, LinkPage
from matins.domain.runs.claims import (
    Advance,
    AwaitedEnd,
    Claim,
    Claimed,
    DueJob,
    FollowUp,
    Mark,
)
from matins.domain.schedules.schedule import Schedule
from matins.domain.timetables.compiling import Timing
from matins.store.chains import ChainStatements
from matins.store.claims import ClaimStatements
from matins.store.database import Database
from matins.store.leases import PostgresLeases
from matins.store.past import run_counts
from matins.store.queries import load_queries
from matins.store.timings import KnownCalendars, Versions, schedule_of, timing_of

_Q = load_queries("agenda.sql")
_FOLLOWING = load_queries("following.sql")
_MISFIRES_MAX = 16_384


class PostgresAgenda:
    """Loads, claims and writes back; claims have connections of their own."""

    def __init__(self, claims: Database, reads: Database, leases: PostgresLeases) -> None:
        self._claims = ClaimStatements(claims, reads)
        self._chains = ChainStatements(reads)
        self._reads = reads
        self._leases = leases
        self._calendars = KnownCalendars()
        self._seen: int | None = None

    async def database_time(self) -> datetime:
        """See `domain.ports.Agenda`."""
        return await self._reads.clock()

    async def load(self, after: Mapping[int, Mark], until: datetime, share: int) -> list[DueJob]:
        """See `domain.ports.Agenda`."""
        if self._seen is None:  # what is committed after this load was not seen by it
            self._seen = await self._under_way()
        rows = await self._reads.fetch(_Q["load"], until=until, share=share, **marks_of(after))
        return await self._due_jobs(rows)

    async def changed_jobs(self, partitions: Collection[int], since: datetime) -> list[DueJob]:
        """See `domain.ports.Agenda`."""
        seen = await self._under_way()
        rows = await self._reads.fetch(
            _Q["changed_jobs"],
            partitions=list(partitions),
            since=since,
            seen=seen if self._seen is None else self._seen,
        )
        jobs = await self._due_jobs(rows)
        self._seen = seen
        return jobs

    async def _under_way(self) -> int:
        """Return the oldest transaction that has not ended, as a number."""
        row = await self._reads.fetchrow(_Q["under_way"])
        assert row is not None
        seen: int = row["seen"]
        return seen

    async def find_jobs(self, job_ids: Collection[UUID]) -> list[DueJob]:
        """See `domain.ports.Agenda`."""
        rows = await self._reads.fetch(_Q["find_jobs"], job_ids=list(job_ids))
        return await self._due_jobs(rows)

    async def claim(
        self, holder: UUID, epochs: Mapping[int, int], claims: Sequence[Claim]
    ) -> Claimed:
        """See `domain.ports.Agenda`."""
        return await self._claims.claim(holder, epochs, claims)

    async def locked_partitions(self, partitions: Collection[int]) -> set[int]:
        """See `domain.ports.Agenda`."""
        return await self._claims.locked_partitions(list(partitions))

    async def advance(self, holder: UUID, advances: Sequence[Advance]) -> None:
        """See `domain.ports.Agenda`."""
        ordered = sorted(advances, key=_job_id)
        await self._reads.fetch(
            _Q["advance"],
            holder=holder,
            renewed_at=self._leases.renewed_at(holder),
            job_ids=[advance.job_id for advance in ordered],
            revisions=[advance.revision for advance in ordered],
            next_due_ats=[advance.next_due_at for advance in ordered],
            next_fire_ats=[advance.next_fire_at for advance in ordered],
            accounted_untils=[advance.accounted_until for advance in ordered],
            open_sinces=[advance.open_since for advance in ordered],
        )

    async def ended_runs(self, partitions: Collection[int], limit: int) -> list[AwaitedEnd]:
        """See `domain.ports.Agenda`."""
        rows = await self._reads.fetch(
            _FOLLOWING["ended_runs"], partitions=list(partitions), limit=limit
        )
        jobs = await self._due_jobs(rows)
        limited = {job.id: job.timing.since for job in jobs if job.schedule.max_runs}
        counts = await run_counts(self._reads.fetch, limited)
        return [
            AwaitedEnd(job, row["due_at"], row["ended_at"], counts[job.id])
            for job, row in zip(jobs, rows, strict=True)
        ]

    async def write_follow_ups(self, follow_ups: Sequence[FollowUp]) -> set[UUID]:
        """See `domain.ports.Agenda`."""
        ordered = sorted(follow_ups, key=_job_id)
        rows = await self._reads.fetch(
            _FOLLOWING["write_follow_ups"],
            job_ids=[follow_up.job_id for follow_up in ordered],
            revisions=[follow_up.revision for follow_up in ordered],
            follows=[follow_up.follows for follow_up in ordered],
            next_due_ats=[follow_up.next_due_at for follow_up in ordered],
            next_fire_ats=[follow_up.next_fire_at for follow_up in ordered],
        )
        return {row["id"] for row in rows}

    async def links(self, partitions: Collection[int], after: UUID | None = None) -> LinkPage:
        """See `domain.ports.Agenda`."""
        return await self._chains.links(partitions, after)

    async def advance_chains(self, partitions: Collection[int]) -> None:
        """See `domain.ports.Agenda`."""
        await self._chains.advance_chains(partitions)

    async def revive(
        self, holder: UUID, epochs: Mapping[int, int], links: Sequence[Link], starts: Sequence[bool]
    ) -> Claimed:
        """See `domain.ports.Agenda`."""
        return await self._chains.revive(holder, epochs, links, starts)

    async def quarantine(self, job_id: UUID, revision: int, reason: str) -> None:
        """See `domain.ports.Agenda`."""
        args = {"job_id": job_id, "revision": revision, "reason": reason, "author": ENGINE}
        await self._reads.fetch(_Q["quarantine"], **args)

    async def _due_jobs(self, rows: Sequence[asyncpg.Record]) -> list[DueJob]:
        versions = await self._calendars.versions(self._reads.fetch, rows)
        return [_due_job(row, versions) for row in rows]


def marks_of(after: Mapping[int, Mark]) -> dict[str, object]:
    """Return the places after which pages begin, column by column."""
    return {
        "partitions": list(after),
        "after_ats": [mark.at for mark in after.values()],
        "after_ids": [mark.id for mark in after.values()],
    }


def _due_job(row: asyncpg.Record, versions: Versions) -> DueJob:
    """What can't be read is told as the job's fault: it must not stop the others."""
    schedule, misfire, fault = Schedule(), Misfire(), ""
    timing = Timing(row["anchor"], row["anchor"])
    try:
        schedule, misfire = schedule_of(row["schedule"]), _misfire(row["misfire"])
        timing = timing_of(row, versions)
    except Exception as error:  # whatever somebody has put there
        fault = f"the stored job can't be read: {error}"
    return DueJob(
        id=row["id"],
        partition=row["partition"],
        revision=row["revision"],
        state=JobState(row["state"]),
        schedule=schedule,
        timing=timing,
        misfire=misfire,
        pool=row["pool"],
        next_due_at=row["next_due_at"],
        next_fire_at=row["next_fire_at"],
        team_id=row["team_id"],
        priority=row["priority"],
        overlap=row["overlap"],
        open_since=row["open_since"],
        fault=fault,
    )


def _job_id(written: Advance | FollowUp) -> UUID:
    """Rows are locked in this order, so that no two writers wait for each other."""
    return written.job_id


@lru_cache(maxsize=_MISFIRES_MAX)
def _misfire(text: str) -> Misfire:
    return msgspec.json.decode(text, type=Misfire)
