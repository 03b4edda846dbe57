"""What owners look at: jobs, runs, attempts, executors, partitions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg
import msgspec

from matins.domain.executors.fleet import SILENT, instant
from matins.domain.executors.protocol import RunStatus
from matins.domain.jobs.spec import Job
from matins.domain.runs.inputs import GivenInput
from matins.domain.runs.recent import RecentRuns
from matins.domain.runs.states import RunState
from matins.domain.values.errors import InvalidInputError, NotFoundError
from matins.domain.values.ids import due_of, id_before, names_instant
from matins.domain.values.names import check_name
from matins.domain.views import (
    AttemptRecord,
    ExecutorRecord,
    JobPage,
    PartitionRecord,
    Run,
    RunPage,
)
from matins.store.database import Database
from matins.store.dispatch import status_of
from matins.store.fleet import PostgresFleet
from matins.store.job_rows import job_of, readable
from matins.store.past import LATEST, around, day_ranges
from matins.store.queries import Query, load_queries
from matins.store.recent import recent_runs

RECENT = timedelta(days=7)
"""How far lists of runs of many jobs look back, unless they are told."""

_Q = load_queries("reads.sql")
_ROOMS = (
    *(RunState.WAITING, RunState.QUEUED, RunState.RUNNING),
    *(RunState.RETRYING, RunState.DEAD),
)
_FIRST_ID = UUID(int=0)
LAST_ID = UUID(int=(1 << 128) - 1)

WALK_MAX = 5_000
"""The most runs that a page looks at for those in some states."""

RANGES_MAX = 16
"""The most ranges of days that a page looks at, each at some 4 ms: 17 months."""


def due_at_of(run: UUID) -> datetime:
    """Return the due time in a run's id. Raises NotFoundError when it can't be the id of a run."""
    if not names_instant(run):
        raise NotFoundError(f"there is no run {run}")
    return due_of(run)


class PostgresReads:
    """Reads for owners. A replica will do for all of it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._fleet = PostgresFleet(database)

    async def now(self) -> datetime:
        """Return the database's clock."""
        return await self._database.clock()

    async def job(self, team: str, name: str) -> Job:
        """Return a job by its name. Raises NotFoundError."""
        check_name("team", team)
        check_name("name", name)
        row = await self._database.fetchrow(_Q["job"], team=team, name=name)
        if row is None:
            raise NotFoundError(f"team {team} has no job {name!r}{await self._end_of(team, name)}")
        [job] = await self._fleet.tell_overdue([job_of(row, team)])
        return job

    async def jobs(self, team: str, after: str, limit: int) -> JobPage:
        """Return a team's jobs by name, from after that one on."""
        check_name("team", team)
        if after:
            check_name("after", after)
        rows = await self._database.fetch(_Q["jobs"], team=team, after=after, limit=limit)
        records, unreadable = readable([(team, row) for row in rows])
        jobs = await self._fleet.tell_overdue(records)
        return JobPage(jobs, rows[-1]["name"] if len(rows) == limit else None, unreadable)

    async def all_jobs(self, after: UUID | None, limit: int) -> JobPage:
        """Return all teams' jobs by id, from after that one on."""
        rows = await self._database.fetch(_Q["all_jobs"], after=after or _FIRST_ID, limit=limit)
        records, unreadable = readable([(row["team"], row) for row in rows])
        jobs = await self._fleet.tell_overdue(records)
        return JobPage(jobs, str(rows[-1]["id"]) if len(rows) == limit else None, unreadable)

    async def with_recent_runs(self, page: JobPage, count: int) -> JobPage:
        """Return a page of jobs with the last runs of each, `count` at most."""
        if count == 0:
            return page
        job_ids = [job.id for job in page.jobs]
        found = await recent_runs(self._database.fetch, job_ids, count)
        recent = {job_id: RecentRuns.of(runs) for job_id, runs in found.items()}
        return msgspec.structs.replace(page, recent=recent)

    async def statuses(self, run_ids: Collection[UUID]) -> list[RunStatus]:
        """Return the statuses of those of the runs that exist; their ids come from `due_at_of`."""
        due_ats = [due_of(run) for run in run_ids]
        rows = await self._database.fetch(_Q["statuses"], run_ids=list(run_ids), due_ats=due_ats)
        statuses = [status_of(row) for row in rows]
        statuses = await self._fleet.tell_waiting(rows, statuses)
        missing = set(run_ids).difference(status.id for status in statuses)
        rows = await self._by_id(sorted(missing, key=lambda run: run.int, reverse=True))
        return statuses + [status_of(row) for row in rows]

    async def runs_of_job(self, team: str, name: str, before: UUID | None, limit: int) -> RunPage:
        """Return a job's runs, newest first, also of one that was deleted. Raises NotFoundError."""
        job_id = await self.job_id(team, name)
        rows = await self._newest(_Q["runs_of_job"], before, limit, job_id=job_id)
        runs = [_run(row, team, name) for row in rows]
        return _page(await self._fleet.tell_waiting(rows, runs), limit)

    async def runs(
        self,
        team: str | None,
        states: Sequence[RunState],
        since: datetime | None,
        before: UUID | None,
        limit: int,
    ) -> RunPage:
        """Runs in these states, newest first, of a team's jobs or of all.

        What is rare among all runs is found by the tables that hold only such.
        """
        if team is not None:
            check_name("team", team)
        if len(states) == 1 and states[0] in _ROOMS:
            rows = await self._in_room(states[0], team, since, before, limit)
            return await self._page_with_reasons(rows, limit)
        rows, walked_to = await self._walk(
            team, states, since or await self.now() - RECENT, before, limit
        )
        page = await self._page_with_reasons(rows, limit)
        return page if page.next else RunPage(page.runs, walked_to)

    async def _page_with_reasons(self, rows: Sequence[asyncpg.Record], limit: int) -> RunPage:
        runs = [_run(row, row["team"], row["job"]) for row in rows]
        return _page(await self._fleet.tell_waiting(rows, runs), limit)

    async def _walk(
        self,
        team: str | None,
        states: Sequence[RunState],
        since: datetime,
        before: UUID | None,
        limit: int,
    ) -> tuple[list[asyncpg.Record], UUID | None]:
        """Return runs in these states, and from where to go on if there was too much to look at.

        However rare they are, a page looks at `WALK_MAX` runs and `RANGES_MAX` ranges of days
        at most, so it may hold few, or none.
        """
        name, args = ("runs_recent", {}) if team is None else ("runs_of_team", {"team": team})
        until, walk, looked = _until(before), WALK_MAX, 0
        records: list[asyncpg.Record] = []
        async for days in day_ranges(self._database.fetch, until):
            rest = limit - len(records)
            if rest == 0 or days.past <= since:
                break
            if looked == RANGES_MAX:
                return records, id_before(days.past)
            span = {"since": since, "until": until, "before": before or LAST_ID, "walk": walk}
            rows = await self._database.fetch(
                days.pin(_Q[name]), states=list(states), limit=rest, **span, **args
            )
            records, looked = records + rows, looked + 1
            if len(rows) < rest:
                last = await self._database.fetchrow(days.pin(_Q[f"{name}_walked"]), **span, **args)
                walk -= last["number"] if last else 0
                if last and not walk:
                    return records, last["id"]
        return records, None

    async def _in_room(
        self,
        state: RunState,
        team: str | None,
        since: datetime | None,
        before: UUID | None,
        limit: int,
    ) -> list[asyncpg.Record]:
        """Runs in a state, newest first, by the ids in a table that holds such."""
        since = since or await self.now() - RECENT
        args = {} if team is None else {"team": team}
        query = _Q[state if team is None else f"{state}_of_team"]
        records: list[asyncpg.Record] = []
        oldest = before or LAST_ID
        while len(records) < limit:
            rows = await self._database.fetch(query, before=oldest, limit=limit, **args)
            ids = [row["run_id"] for row in rows if due_of(row["run_id"]) >= since]
            records += [row for row in await self._by_id(ids) if row["state"] == state]
            if len(ids) < limit:
                break
            oldest = ids[-1]  # some have gone on meanwhile: look further
        return records[:limit]

    async def _by_id(self, run_ids: Sequence[UUID]) -> list[asyncpg.Record]:
        """Return the rows of runs, in the order of their ids downwards."""
        records: list[asyncpg.Record] = []
        if run_ids:
            async for days in day_ranges(self._database.fetch, due_of(run_ids[0])):
                ids = [run for run in run_ids if days.first <= due_of(run) < days.past]
                if ids:
                    records += await self._database.fetch(days.pin(_Q["runs_by_id"]), run_ids=ids)
                if days.first <= due_of(run_ids[-1]):
                    break
        return sorted(records, key=lambda row: row["id"].int, reverse=True)

    async def job_id(self, team: str, name: str) -> UUID:
        """Return the id of the job of that name, else of the last one that had it. Raises
        NotFoundError.
        """
        job = await self._job_ever(team, name)
        if job is None:
            raise NotFoundError(f"team {team} has no job {name!r}")
        job_id: UUID = job["id"]
        return job_id

    async def _job_ever(self, team: str, name: str) -> asyncpg.Record | None:
        check_name("team", team)
        check_name("name", name)
        return await self._database.fetchrow(_Q["job_ever"], team=team, name=name)

    async def _end_of(self, team: str, name: str) -> str:
        """Return what there is to be told of a job that is no more."""
        job = await self._job_ever(team, name)
        if job is None:
            return ""
        return f"; one was deleted at {instant(job['changed_at'])}, and its runs are still listed"

    async def _newest(
        self, query: Query, before: UUID | None, limit: int, **args: object
    ) -> list[asyncpg.Record]:
        """Return the newest runs that a query finds, a range of days after the other."""
        until = _until(before)
        args |= {"until": until, "before": before or LAST_ID}
        records: list[asyncpg.Record] = []
        async for days in day_ranges(self._database.fetch, until):
            rest = limit - len(records)
            if rest == 0:
                break
            records += await self._database.fetch(days.pin(query), limit=rest, **args)
        return records

    async def run(self, run: UUID) -> Run:
        """Return a run, as lists show it. Raises NotFoundError."""
        due_at_of(run)
        page = await self._page_with_reasons(await self._by_id([run]), 1)
        if not page.runs:
            raise NotFoundError(f"there is no run {run}")
        return page.runs[0]

    async def attempts(self, run: UUID) -> list[AttemptRecord]:
        """Return a run's attempts, first to last. Raises NotFoundError."""
        due_at = due_at_of(run)
        query = around(due_at, due_at).pin(_Q["attempts"])
        rows = await self._database.fetch(query, run_id=run, due_at=due_at)
        if not rows and not await self.statuses([run]):
            raise NotFoundError(f"there is no run {run}")
        return [_attempt(row) for row in rows]

    async def run_input(self, run: UUID) -> GivenInput:
        """Return what a trigger or a replay changed for a run. Raises NotFoundError."""
        due_at = due_at_of(run)
        query = around(due_at, due_at).pin(_Q["input"])
        row = await self._database.fetchrow(query, run_id=run, due_at=due_at)
        if row is None:
            raise NotFoundError(f"there is no run {run}")
        return given_of(row)

    async def executors(self) -> list[ExecutorRecord]:
        """Return all executors alive, and those that ended within a day."""
        rows = await self._database.fetch(_Q["executors"], silent=SILENT)
        return [msgspec.convert(dict(row), ExecutorRecord) for row in rows]

    async def partitions(self) -> list[PartitionRecord]:
        """Return all partitions with their holders and watermarks."""
        rows = await self._database.fetch(_Q["partitions"])
        return [msgspec.convert(dict(row), PartitionRecord) for row in rows]


def given_of(row: asyncpg.Record) -> GivenInput:
    """Return what was given for a run, from its row."""
    given = msgspec.json.decode(row["input"] or "{}", type=GivenInput)
    by = row["replayed_by"] or ""
    return msgspec.structs.replace(given, replay_of=row["replay_of"], replayed_by=by)


def _until(before: UUID | None) -> datetime:
    """Return up to which due time a page may reach."""
    if before is None:
        return LATEST
    if not names_instant(before):
        raise InvalidInputError.at("before", f"{before} is not the id of a run")
    return due_of(before)


def _page(runs: list[Run], limit: int) -> RunPage:
    return RunPage(runs, runs[-1].id if len(runs) == limit else None)


def _run(row: asyncpg.Record, team: str, job: str) -> Run:
    return msgspec.convert({**row, "team": team, "job": job}, Run)


def _attempt(row: asyncpg.Record) -> AttemptRecord:
    results = msgspec.json.decode(row["results"] or "{}")
    return msgspec.convert(dict(row) | {"results": results}, AttemptRecord)
