"""Backfills in PostgreSQL. See `domain.ports.backfills`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

import asyncpg
import msgspec

from matins.domain.jobs.spec import PRIORITIES, JobSpec, JobState
from matins.domain.ports.backfills import BackfilledJob, NewBackfill
from matins.domain.runs.admission.waiting import CLAIM, Waiting
from matins.domain.runs.backfills.expansion import JobPast, Ledger, PastRevision, RecordedDue
from matins.domain.runs.backfills.stepping import BackfillStep, OpenBackfill, OpenBackfillRun
from matins.domain.runs.backfills.values import (
    LIST_MAX,
    Backfill,
    BackfillCounts,
    BackfillState,
    LeftOut,
    Rated,
    Span,
    pace,
)
from matins.domain.runs.states import FINAL, Kind, RunState
from matins.domain.timetables.compiling import Timing
from matins.domain.values.errors import NotFoundError
from matins.domain.values.names import check_name
from matins.store.columns import fence_columns
from matins.store.database import Database
from matins.store.days import with_days
from matins.store.past import day_ranges
from matins.store.queries import load_queries
from matins.store.timings import KnownCalendars, Versions, timing_of

_Q = load_queries("backfills.sql")


class _PastReader:
    """What both sides read of a job: as it was, and what is recorded of it."""

    def __init__(self, reads: Database, calendars: KnownCalendars) -> None:
        self._reads = reads
        self._calendars = calendars

    async def job_past(self, job_id: UUID) -> JobPast:
        """See `domain.ports.backfills.BackfillSteps`."""
        rows = await self._reads.fetch(_Q["revisions"], job_id=job_id)
        versions = await self._calendars.versions(self._reads.fetch, rows)
        return JobPast(job_id, [_revision(row, versions) for row in rows])

    async def ledger(self, job_id: UUID, first: datetime, last: datetime) -> Ledger:
        """See `domain.ports.backfills.BackfillSteps`."""
        # Bounds first: what is claimed between the two has its row, or is left out.
        bounds = await self._reads.fetchrow(_Q["bounds"], job_id=job_id)
        rows: list[RecordedDue] = []
        args = {"job_id": job_id, "since": first, "until": last}
        async for days in day_ranges(self._reads.fetch, last):
            if days.past <= first:
                break
            for row in await self._reads.fetch(days.pin(_Q["recorded"]), **args):
                kind, state = Kind(row["kind"]), RunState(row["state"])
                rows.append(RecordedDue(row["due_at"], kind, state))
        return Ledger(rows) if bounds is None else Ledger(rows, **bounds)

    async def runs_of(self, backfill_ids: Collection[UUID]) -> dict[UUID, list[OpenBackfillRun]]:
        """Return the open runs of backfills."""
        rows = await self._reads.fetch(_Q["open_runs"], ids=list(backfill_ids))
        open_runs: dict[UUID, list[OpenBackfillRun]] = {}
        for row in rows:
            state = None if row["state"] is None else RunState(row["state"])
            open_runs.setdefault(row["backfill_id"], []).append(
                OpenBackfillRun(row["run_id"], state)
            )
        return open_runs


class PostgresBackfills(_PastReader):
    """See `domain.ports.backfills.BackfillSteps`."""

    def __init__(self, steps: Database, reads: Database) -> None:
        super().__init__(reads, KnownCalendars())
        self._steps = steps

    async def unfinished_backfills(self, partitions: Collection[int]) -> list[OpenBackfill]:
        """See `domain.ports.backfills.BackfillSteps`."""
        rows = await self._reads.fetch(_Q["unfinished_backfills"], partitions=list(partitions))
        if not rows:
            return []
        runs = await self.runs_of([row["id"] for row in rows])
        return [_open(row, runs.get(row["id"], [])) for row in rows]

    async def proceed(
        self, holder: UUID, epochs: Mapping[int, int], step: BackfillStep
    ) -> list[Waiting]:
        """See `domain.ports.backfills.BackfillSteps`."""
        backfill = step.backfill
        ended = step.ended_by_state()

        async def write() -> list[asyncpg.Record]:
            return await self._steps.fetch(
                _Q["proceed"],
                id=backfill.id,
                step=backfill.step,
                holder=holder,
                **fence_columns([backfill.partition], epochs),
                epoch=epochs.get(backfill.partition),
                priority=PRIORITIES["low"],
                run_ids=[run.run_id for run in step.runs],
                due_ats=[run.due_at for run in step.runs],
                revisions=[run.revision for run in step.runs],
                ended_ids=[run.run_id for run in step.ended],
                state=step.state,
                mark=step.mark,
                walked=step.walked,
                finished=step.finished,
                reason=step.reason,
                left_out=sum(group.due_count for group in step.left_out),
                **_range_columns(step.left_out),
                **{state.value: ended[state] for state in FINAL},
            )

        rows = await with_days(self._reads, [run.due_at for run in step.runs], write)
        return [Waiting(**row, cause=CLAIM) for row in rows]


class PostgresBackfillChanges(_PastReader):
    """See `domain.ports.backfills.BackfillChanges`; and lists for owners."""

    async def find_job(self, team: str, name: str) -> BackfilledJob | None:
        """See `domain.ports.backfills.BackfillChanges`."""
        row = await self._reads.fetchrow(_Q["find_job"], team=team, name=name)
        if row is None:
            return None
        spec = msgspec.json.decode(row["spec"], type=JobSpec)
        return BackfilledJob(row["id"], spec, await self.job_past(row["id"]), row["now"])

    async def create(self, backfill: NewBackfill) -> bool:
        """See `domain.ports.backfills.BackfillChanges`."""
        span = backfill.span
        row = await self._reads.fetchrow(
            _Q["create"],
            id=backfill.id,
            job_id=backfill.job_id,
            since=span.since,
            until=span.until,
            order=span.order,
            again=span.again,
            run_limit=backfill.limit,
            planned=backfill.planned,
            reason=backfill.reason,
            **_range_columns(backfill.gaps),
        )
        return row is not None

    async def find_unfinished(self, job_id: UUID) -> UUID | None:
        """See `domain.ports.backfills.BackfillChanges`."""
        row = await self._reads.fetchrow(_Q["find_unfinished"], job_id=job_id)
        return None if row is None else row["id"]

    async def change(
        self, backfill_id: UUID, before: Collection[BackfillState], state: BackfillState
    ) -> bool:
        """See `domain.ports.backfills.BackfillChanges`."""
        row = await self._reads.fetchrow(
            _Q["change"], id=backfill_id, before=list(before), state=state
        )
        return row is not None

    async def find_backfill(self, backfill_id: UUID) -> Backfill | None:
        """See `domain.ports.backfills.BackfillChanges`."""
        row = await self._reads.fetchrow(_Q["find_backfill"], id=backfill_id)
        if row is None:
            return None
        ranges = await self._reads.fetch(_Q["left_out"], id=backfill_id, limit=LIST_MAX)
        counts = await self._reads.fetch(_Q["left_out_counts"], id=backfill_id)
        [backfill] = await self._shown([row])
        return msgspec.structs.replace(
            backfill,
            left_out={count["reason"]: count["due_count"] for count in counts},
            ranges=[LeftOut(**group) for group in ranges],
        )

    async def open_runs(self, backfill_id: UUID) -> list[UUID]:
        """See `domain.ports.backfills.BackfillChanges`."""
        runs = await self.runs_of([backfill_id])
        return [run.run_id for run in runs.get(backfill_id, [])]

    async def of_job(self, team: str, name: str, limit: int) -> list[Backfill]:
        """Return the newest backfills of the jobs of a name, without what they leave out."""
        check_name("team", team)
        check_name("job", name)
        args = {"team": team, "name": name, "limit": limit}
        return await self._shown(await self._reads.fetch(_Q["list_of_job"], **args))

    async def of_team(self, team: str, limit: int) -> list[Backfill]:
        """Return the newest backfills of a team, without what they leave out."""
        check_name("team", team)
        return await self._shown(
            await self._reads.fetch(_Q["list_of_team"], team=team, limit=limit)
        )

    async def newest(self, limit: int) -> list[Backfill]:
        """Return the newest backfills of all teams, with those that are not over."""
        return await self._shown(await self._reads.fetch(_Q["newest"], limit=limit))

    async def found(self, backfill_id: UUID) -> Backfill:
        """Return how a backfill stands. Raises NotFoundError."""
        backfill = await self.find_backfill(backfill_id)
        if backfill is None:
            raise NotFoundError(f"there is no backfill {backfill_id}")
        return backfill

    async def _shown(self, rows: Sequence[asyncpg.Record]) -> list[Backfill]:
        runs = await self.runs_of([row["id"] for row in rows if row["finished_at"] is None])
        return [_backfill(row, runs.get(row["id"], [])) for row in rows]


def _revision(row: asyncpg.Record, versions: Versions) -> PastRevision:
    """What can't be read is told as the revision's fault; the others are read all the same."""
    spec, fault = None, ""
    timing = Timing(row["anchor"], row["anchor"])
    try:
        timing = timing_of(row, versions)
        spec = msgspec.json.decode(row["spec"], type=JobSpec)
    except Exception as error:  # whatever somebody has put there
        spec, fault = None, str(error)
    state = JobState(row["state"])
    return PastRevision(row["revision"], row["effective_at"], state, timing, spec, fault)


def _span(row: asyncpg.Record) -> Span:
    return Span(row["since"], row["until"], row["order"], row["again"])


def _open(row: asyncpg.Record, runs: Sequence[OpenBackfillRun]) -> OpenBackfill:
    return OpenBackfill(
        id=row["id"],
        job_id=row["job_id"],
        partition=row["partition"],
        state=BackfillState(row["state"]),
        span=_span(row),
        limit=row["run_limit"],
        mark=row["mark"],
        walked=row["walked"],
        step=row["step"],
        is_deleted=row["is_deleted"],
        is_held_up=row["is_held_up"],
        runs=runs,
    )


def _backfill(row: asyncpg.Record, runs: Sequence[OpenBackfillRun]) -> Backfill:
    """Return a backfill as it stands: what has ended and is not noted yet is counted as ended."""
    states = Counter(run.state or RunState.CANCELLED for run in runs)
    counts = BackfillCounts(
        planned=row["planned"],
        made=row["made"],
        left_out=row["left_out"],
        **{state.value: row[state.value] + states.pop(state, 0) for state in FINAL},
    )
    rated = Rated(row["rated_at"], row["rated_ended"])
    per_hour, ends_at = None, None
    if row["state"] == BackfillState.ACTIVE:
        unfinished = states.total()
        per_hour, ends_at = pace(counts, unfinished, rated, row["now"], walked=row["walked"])
    return Backfill(
        id=row["id"],
        team=row["team"],
        job=row["job"],
        state=BackfillState(row["state"]),
        since=row["since"],
        until=row["until"],
        order=row["order"],
        limit=row["run_limit"],
        again=row["again"],
        counts=counts,
        made_at=row["made_at"],
        finished_at=row["finished_at"],
        reason=row["reason"],
        unfinished=dict(states),
        per_hour=per_hour,
        ends_at=ends_at,
    )


def _range_columns(ranges: Sequence[LeftOut]) -> dict[str, object]:
    return {
        "first_ats": [group.first_at for group in ranges],
        "last_ats": [group.last_at for group in ranges],
        "due_counts": [group.due_count for group in ranges],
        "reasons": [group.reason for group in ranges],
    }
