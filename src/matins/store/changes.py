"""Changes of jobs, each in one transaction. See `domain.ports.jobs`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TypeVar
from uuid import UUID

import asyncpg
import msgspec

from matins.domain.jobs.changes import LockedJob
from matins.domain.jobs.limits import JobQuota
from matins.domain.jobs.revisions import JobRevision
from matins.domain.jobs.spec import PRIORITIES, JobSpec, JobState
from matins.domain.ports.jobs import CalendarVersion, JobTransaction
from matins.domain.runs.admission.open_runs import MARGIN
from matins.domain.runs.chains import LeaderRow, LeaderRows
from matins.domain.runs.claims import Claim
from matins.domain.runs.following import RecordedRun
from matins.domain.runs.states import Kind
from matins.domain.timetables.next_due import NextDue
from matins.domain.values.ids import partition_of
from matins.store.database import Database
from matins.store.days import with_days
from matins.store.job_rows import as_json, spec_columns
from matins.store.past import around, newest_runs, recorded, run_counts
from matins.store.queries import Query, load_queries
from matins.store.timings import KnownCalendars, current_calendars, timing_of

_Q = load_queries("changes.sql")
_CHAINS = load_queries("chains.sql")
_T = TypeVar("_T")


class _UndoneError(Exception):
    """Rolls a dry run back."""


class PostgresJobChanges:
    """See `domain.ports.jobs.JobChanges`."""

    def __init__(self, database: Database, calendars: KnownCalendars) -> None:
        self._database = database
        self._calendars = calendars

    async def transact(
        self, step: Callable[[JobTransaction], Awaitable[_T]], *, dry_run: bool = False
    ) -> _T:
        """See `domain.ports.jobs.JobChanges`. Tables of days that are missing are made."""
        dues: list[datetime] = []
        results: list[_T] = []

        async def attempt() -> None:
            async with self._database.transaction() as session:
                tx = _Transaction(self._database, session, self._calendars, dues)
                results[:] = [await step(tx)]
                if dry_run:
                    raise _UndoneError

        with suppress(_UndoneError):
            await with_days(self._database, dues, attempt)
        return results[0]

    async def select(
        self, team: str, labels: Mapping[str, str], after: str, limit: int
    ) -> list[str]:
        """See `domain.ports.jobs.JobChanges`."""
        text = as_json(dict(labels))
        rows = await self._database.fetch(
            _Q["select"], team=team, labels=text, after=after, limit=limit
        )
        return [row["name"] for row in rows]

    async def ended_pauses(
        self, besides: Collection[UUID], limit: int
    ) -> list[tuple[UUID, str, str]]:
        """See `domain.ports.jobs.JobChanges`."""
        rows = await self._database.fetch(_Q["ended_pauses"], besides=list(besides), limit=limit)
        return [(row["id"], row["team"], row["name"]) for row in rows]


class _Transaction:
    """See `domain.ports.jobs.JobTransaction`. `dues` are the due times of what it inserted last."""

    def __init__(
        self,
        database: Database,
        session: asyncpg.pool.PoolConnectionProxy,
        calendars: KnownCalendars,
        dues: list[datetime],
    ) -> None:
        self._database = database
        self._session = session
        self._calendars = calendars
        self._dues = dues

    async def now(self) -> datetime:
        return await self._database.clock(self._session)

    async def lock_job(self, team: str, name: str) -> LockedJob | None:
        rows = await self._fetch(_Q["lock_job"], team=team, name=name)
        if not rows:
            return None
        versions = await self._calendars.versions(self._fetch, rows)
        [row] = rows
        return LockedJob(
            id=row["id"],
            team=team,
            team_id=row["team_id"],
            partition=row["partition"],
            revision=row["revision"],
            state=JobState(row["state"]),
            spec=msgspec.json.decode(row["spec"], type=JobSpec),
            timing=timing_of(row, versions),
            calendars=tuple(row["calendars"]),
            created_at=row["created_at"],
            changed_at=row["changed_at"],
            next_due=NextDue(row["next_due_at"], row["next_fire_at"], row["follows"]),
            reason=row["reason"],
            is_behind=row["is_behind"],
            paused_until=row["paused_until"],
            resume_missed=row["resume_missed"] or "skip",
        )

    async def spec_of(self, job: LockedJob, revision: int) -> JobSpec | None:
        rows = await self._fetch(_Q["spec_of"], job_id=job.id, revision=revision)
        return msgspec.json.decode(rows[0]["spec"], type=JobSpec) if rows else None

    async def current_calendars(
        self, team: str, names: Sequence[str]
    ) -> Mapping[str, CalendarVersion]:
        ids = await current_calendars(self._fetch, team, names, locked=True)
        closures = await self._calendars.closures(self._fetch, list(ids.values()))
        versions = map(CalendarVersion, ids.values(), closures)
        return dict(zip(ids, versions, strict=True))

    async def stopped_since(self, job: LockedJob) -> datetime | None:
        schedule = None if job.spec.schedule is None else as_json(job.spec.schedule)
        [row] = await self._fetch(
            _Q["stopped_since"], job_id=job.id, state=job.state, schedule=schedule
        )
        stopped_at: datetime | None = row["stopped_at"]
        return stopped_at

    async def newest_run(self, job_id: UUID) -> RecordedRun | None:
        row = (await newest_runs(self._fetch, [job_id])).get(job_id)
        return None if row is None else recorded(row)

    async def purged_until(self, job_id: UUID) -> datetime | None:
        [row] = await self._fetch(_Q["purged_until"], job_id=job_id)
        purged_until: datetime | None = row["purged_until"]
        return purged_until

    async def runs_between(
        self, job_id: UUID, since: datetime, until: datetime
    ) -> list[RecordedRun]:
        query = around(since, until).pin(_Q["runs_between"])
        rows = await self._fetch(query, job_id=job_id, since=since, until=until)
        return [recorded(row) for row in rows]

    async def count_runs(self, job_id: UUID, since: datetime) -> int:
        return (await run_counts(self._fetch, {job_id: since}))[job_id]

    async def record(self, job: LockedJob, claims: Sequence[Claim], at: datetime) -> set[UUID]:
        self._dues[:] = [claim.due_at for claim in claims]
        rows = await self._fetch(
            _Q["record"],
            job_id=job.id,
            team_id=job.team_id,
            partition=job.partition,
            priority=PRIORITIES[job.spec.priority],
            pool=job.spec.pool,
            kind=claims[0].kind if claims else Kind.SCHEDULED,
            at=at,
            run_ids=[claim.run_id for claim in claims],
            due_ats=self._dues,
            fire_ats=[claim.fire_at for claim in claims],
            states=[claim.state for claim in claims],
            reasons=[claim.reason for claim in claims],
            due_untils=[claim.due_until for claim in claims],
            due_counts=[claim.due_count for claim in claims],
        )
        if claims:
            await self._fetch(_CHAINS["wake"], job_id=job.id, since=min(self._dues))
        return {row["id"] for row in rows}

    async def lock_chains(self, team: str) -> None:
        await self._fetch(_CHAINS["lock_chains"], team=team)

    async def upstream(self, team: str, names: Sequence[str]) -> Mapping[str, Sequence[str]]:
        rows = await self._fetch(_CHAINS["upstream"], team=team, names=list(names))
        return {row["name"]: row["upstream"] for row in rows}

    async def downstream(self, team: str, name: str) -> list[str]:
        rows = await self._fetch(_CHAINS["downstream"], team=team, name=name)
        return [row["name"] for row in rows]

    async def leader_rows(
        self, job: LockedJob, after: datetime, until: datetime, limit: int
    ) -> LeaderRows:
        query = around(after, until).pin(_CHAINS["leader_rows"])
        rows = await self._fetch(query, job_id=job.id, after=after, until=until, limit=limit)
        [row] = await self._fetch(_CHAINS["leader_bound"], job_id=job.id)
        return LeaderRows([LeaderRow(**leader) for leader in rows], row["bound"])

    async def advance(self, job_id: UUID, next_due: NextDue) -> None:
        await self._fetch(
            _Q["advance_job"],
            id=job_id,
            next_due_at=next_due.due_at,
            next_fire_at=next_due.fire_at,
        )

    async def job_quota(self, team: str) -> JobQuota | None:
        rows = await self._fetch(_Q["job_quota"], team=team)
        if not rows:
            return None
        [quota] = rows
        [count] = await self._fetch(_Q["count_jobs"], team_id=quota["team_id"])
        return JobQuota(quota["max_jobs"], count["jobs"])

    async def insert_job(self, job_id: UUID, team: str, revision: JobRevision) -> bool:
        await self._database.make_team(self._session, team)
        made = await self._fetch(
            _Q["insert_job"],
            id=job_id,
            team=team,
            partition=partition_of(job_id),
            name=revision.spec.name,
            anchor=revision.timing.anchor,
            **_columns(revision),
        )
        if made:
            await self._write_upstream(job_id, revision)
        return bool(made)

    async def write_revision(self, job: LockedJob, revision: JobRevision) -> None:
        await self._fetch(
            _Q["write_revision"],
            id=job.id,
            state=revision.state,
            reason=revision.reason,
            paused_until=revision.pause.until,
            resume_missed=revision.pause.missed if revision.pause.until else None,
            overrides=as_json(revision.timing.overrides),
            open_since=await self._open_since(job, revision),
            **_columns(revision),
        )
        await self._write_upstream(job.id, revision)

    async def _open_since(self, job: LockedJob, revision: JobRevision) -> datetime | None:
        """Return since when unfinished runs are to be looked for, where nobody has kept it."""
        if job.spec.overlapping.policy != "allow" or revision.spec.overlapping.policy == "allow":
            return None
        safe_since = revision.at - MARGIN
        [row] = await self._fetch(_Q["open_since"], job_id=job.id, safe_since=safe_since)
        open_since: datetime = row["open_since"]
        return open_since

    async def cancel_waiting(self, job: LockedJob) -> int:
        args = {"job_id": job.id, "partition": job.partition}
        [row] = await self._fetch(_Q["cancel_waiting"], **args)
        cancelled: int = row["cancelled"]
        return cancelled

    async def has_unfinished_runs(self, job_id: UUID) -> bool:
        [row] = await self._fetch(_Q["has_unfinished_runs"], job_id=job_id)
        is_unfinished: bool = row["is_unfinished"]
        return is_unfinished

    async def _write_upstream(self, job_id: UUID, revision: JobRevision) -> None:
        is_active = revision.state is JobState.ACTIVE
        due = revision.next_due
        await self._fetch(
            _CHAINS["write_upstream"],
            job_id=job_id,
            names=[] if revision.state is JobState.DELETED else revision.spec.upstream,
            since=(due.due_at or due.follows) if is_active else None,
        )

    async def _fetch(self, query: Query, **args: object) -> list[asyncpg.Record]:
        return await self._database.run(self._session, query, **args)


def _columns(revision: JobRevision) -> dict[str, object]:
    """Return what the first revision of a job and all later ones write alike."""
    return {
        "at": revision.at,
        "changed_by": revision.author.name,
        "change_reason": revision.author.reason,
        "since": revision.timing.since,
        "calendars": list(revision.calendars),
        "next_due_at": revision.next_due.due_at,
        "next_fire_at": revision.next_due.fire_at,
        "follows": revision.next_due.follows,
        **spec_columns(revision.spec),
    }
