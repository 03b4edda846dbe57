"""Finds the run that a name means: see `domain/runs/naming.py` for names."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from matins.domain.executors.fleet import instant
from matins.domain.executors.protocol import RunStatus
from matins.domain.runs.naming import FAILED, IdRange, OfJob, RunName, has_seconds, parse_run_name
from matins.domain.time.instants import FIRST_DUE, SECOND, instant_of, parse_instant
from matins.domain.time.zones import Zone, find_zone
from matins.domain.values.errors import InvalidInputError, NotFoundError, ScheduleError
from matins.domain.values.ids import due_of, id_before, names_instant
from matins.domain.views import Run
from matins.store.database import Database
from matins.store.past import LATEST, around
from matins.store.queries import load_queries
from matins.store.reads import PostgresReads

CANDIDATES: Final = 5
"""The most runs that are named where a name may mean several."""

LOOKED_AT: Final = 5_000
"""So many of a job's last runs are looked at for one that failed."""

_PAGE: Final = 500
_MINUTE: Final = timedelta(minutes=1)

_Q = load_queries("naming.sql")


class PostgresRunNames:
    """Finds runs by their names. A replica will do."""

    def __init__(self, database: Database, reads: PostgresReads) -> None:
        self._database = database
        self._reads = reads

    async def find(self, text: str, *, failed: bool) -> RunStatus:
        """Return the run of that name; `failed`: the last run of the job that failed.

        Raises InvalidInputError where the name can't be read or means several runs, and
        NotFoundError where it means none.
        """
        run_id = await self._find(parse_run_name(text), text, failed=failed)
        statuses = await self._reads.statuses([run_id]) if names_instant(run_id) else []
        if not statuses:
            raise NotFoundError(f"there is no run {run_id}")
        return statuses[0]

    async def _find(self, name: RunName, text: str, *, failed: bool) -> UUID:
        if failed and not (isinstance(name, OfJob) and not name.at):
            message = f"{text[:60]!r} is one run already; the last that failed is asked of a job"
            raise InvalidInputError.at("failed", message)
        match name:
            case UUID():
                return name
            case IdRange():
                return await self._in_range(name, text)
        if name.at:
            return await self._due(name)
        return await (self._last_failed(name) if failed else self._last(name))

    async def _in_range(self, ids: IdRange, text: str) -> UUID:
        rows = []
        if names_instant(ids.high):
            days = around(due_of(ids.low), due_of(ids.high))
            args = {"low": ids.low, "high": ids.high, "limit": CANDIDATES + 1}
            rows = await self._database.fetch(days.pin(_Q["in_range"]), **args)
        if not rows:
            raise NotFoundError(f"the id of no run begins with {text}")
        if len(rows) > 1:
            lines = [f"{row['id']} ({row['team']}/{row['job']}, {row['state']})" for row in rows]
            raise _ambiguous(f"{text} is the beginning of several runs", lines)
        run_id: UUID = rows[0]["id"]
        return run_id

    async def _last(self, name: OfJob) -> UUID:
        runs = await self._before(name, None, 1)
        if not runs:
            raise NotFoundError(f"{name.team}/{name.name} has no run yet")
        return runs[0].id

    async def _last_failed(self, name: OfJob) -> UUID:
        before: UUID | None = None
        for _ in range(0, LOOKED_AT, _PAGE):
            page = await self._reads.runs_of_job(name.team, name.name, before, _PAGE)
            for run in page.runs:
                if run.state in FAILED:
                    return run.id
            before = page.next
            if before is None:
                break
        looked = "runs" if before is None else f"last {LOOKED_AT} runs"
        raise NotFoundError(f"none of the {looked} of {name.team}/{name.name} failed")

    async def _due(self, name: OfJob) -> UUID:
        """Return the run that was due at an instant, or within the minute that is written."""
        at = _read(name.at, await self._zone(name))
        runs: list[Run] = []
        for length in (SECOND,) if has_seconds(name.at) else (SECOND, _MINUTE):
            runs = await self._before(name, at + length, CANDIDATES + 2)
            due = [run for run in runs if run.due_at >= at]
            if len(due) == 1:
                return due[0].id
            if due:
                lines = [f"{run.id} (due {instant(run.due_at)}, {run.kind})" for run in due]
                raise _ambiguous(f"{name.at} may mean several runs", lines)
        for run in runs:
            if run.due_until is not None and run.due_until >= at:
                return run.id
        message = f"no run of {name.team}/{name.name} was due at {instant(at)}"
        if runs:
            message += f"; the last one before was {runs[0].id}, due {instant(runs[0].due_at)}"
        raise NotFoundError(message)

    async def _before(self, name: OfJob, end: datetime | None, limit: int) -> list[Run]:
        """Return a job's newest runs, or the newest that were due before an instant."""
        before = None if end is None else id_before(end)
        return (await self._reads.runs_of_job(name.team, name.name, before, limit)).runs

    async def _zone(self, name: OfJob) -> Zone:
        """Return the zone of the job; UTC for one that is no more, or has no schedule."""
        try:
            schedule = (await self._reads.job(name.team, name.name)).spec.schedule
        except NotFoundError:
            schedule = None
        return find_zone("UTC" if schedule is None else schedule.timezone)


def _read(at: str, zone: Zone) -> datetime:
    try:
        return min(max(instant_of(parse_instant(at, zone)), FIRST_DUE), LATEST)
    except ScheduleError as error:
        raise InvalidInputError.at("name", str(error)) from error


def _ambiguous(what: str, lines: Iterable[str]) -> InvalidInputError:
    named = list(lines)
    more = ", and more" if len(named) > CANDIDATES else ""
    return InvalidInputError.at("name", f"{what}: {', '.join(named[:CANDIDATES])}{more}")
