"""Previews of schedules that depend on what is stored: a job's, or one with a team's calendars."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from uuid import UUID

import asyncpg
import msgspec

from matins.domain.calendars.calendar import check_known
from matins.domain.calendars.compiled import CompiledCalendar
from matins.domain.jobs.spec import JobSpec
from matins.domain.schedules.schedule import Schedule
from matins.domain.timetables.compiling import Timing
from matins.domain.values.errors import ConflictError, InvalidInputError, MatinsError, NotFoundError
from matins.domain.values.names import check_name
from matins.domain.views import DueTime, Preview, PreviewRequest
from matins.insight.preview import PreviewedJob, check_request, due_times, preview, under_windows
from matins.store.database import Database
from matins.store.forecasts import PostgresForecasts
from matins.store.queries import load_queries
from matins.store.timings import KnownCalendars, current_calendars, timing_of
from matins.store.windows import windows_of

_Q = load_queries("previews.sql")


class PostgresPreviews:
    """Looks ahead for jobs that are stored, and for schedules that are not."""

    def __init__(
        self, database: Database, calendars: KnownCalendars, forecasts: PostgresForecasts
    ) -> None:
        self._database = database
        self._calendars = calendars
        self._forecasts = forecasts

    async def of_job(self, team: str, name: str, count: int, after: datetime | None) -> Preview:
        """Return a job's next due times, with its calendars and overrides. Raises NotFoundError."""
        row = await self._job(team, name)
        if row is None:
            raise NotFoundError(f"team {team} has no job {name!r}")
        spec = msgspec.json.decode(row["spec"], type=JobSpec)
        if spec.schedule is None:
            raise ConflictError(f"the job {name!r} has no schedule; it runs only when triggered")
        versions = await self._calendars.versions(self._database.fetch, [row])
        timing = timing_of(row, versions)
        subject = PreviewedJob(spec.schedule, timing, row["id"], row["next_due_at"])
        preview = await _look(subject, count, await self._start(after))
        preview = await self._with_leader(preview, team, spec.schedule, count, after)
        preview = await self._with_crowding(preview, own=True)
        return await self._with_windows(preview, team, spec.labels)

    async def coming(
        self, job_ids: Sequence[UUID], until: datetime, count: int
    ) -> dict[UUID, list[DueTime]]:
        """Return the due times up to an instant of active jobs, `count` of each at most.

        Windows are not looked at. What follows other runs, or can't be computed, has none.
        """
        rows = await self._database.fetch(_Q["subjects"], job_ids=list(job_ids))
        versions = await self._calendars.versions(self._database.fetch, rows)
        now = await self._database.clock()
        subjects = []
        for row in rows:
            spec = msgspec.json.decode(row["spec"], type=JobSpec)
            if spec.schedule is not None and spec.schedule.chain is None:
                timing = timing_of(row, versions)
                subjects.append(PreviewedJob(spec.schedule, timing, row["id"], row["next_due_at"]))
        return await asyncio.to_thread(_coming, subjects, now, until, count)

    async def of_schedule(self, request: PreviewRequest) -> Preview:
        """Return the next due times of a schedule as if it were set now."""
        check_request(request.schedule, request.count)
        after = await self._start(request.after)
        closures = await self._current(request.team, request.schedule)
        subject = PreviewedJob(request.schedule, Timing(after, after, closures))
        labels: Mapping[str, str] = {}
        if request.job is not None:
            if request.team is None:
                raise InvalidInputError.at("team", "is missing; a job is named by team and name")
            row = await self._job(request.team, request.job)
            if row is not None:
                timing = Timing(row["anchor"], after, closures)
                subject = PreviewedJob(request.schedule, timing, row["id"])
                labels = msgspec.json.decode(row["spec"], type=JobSpec).labels
        preview = await _look(subject, request.count, after)
        preview = await self._with_crowding(preview, own=False)
        if request.team is None:
            return preview
        preview = await self._with_leader(
            preview, request.team, request.schedule, request.count, after
        )
        return await self._with_windows(preview, request.team, labels)

    async def _with_leader(
        self, preview: Preview, team: str, schedule: Schedule, count: int, after: datetime | None
    ) -> Preview:
        """Show of a chain when the job that leads it is due."""
        if schedule.chain is None:
            return preview
        leader = schedule.chain.jobs[0]
        try:
            shown = await self.of_job(team, leader, count, after)
        except (NotFoundError, ConflictError) as error:
            return msgspec.structs.replace(preview, warnings=[str(error), *preview.warnings])
        due = [msgspec.structs.replace(due, fire_at=due.utc, held="") for due in shown.due]
        note = f"these are the due times of {leader}: it starts when what it follows has ended"
        return msgspec.structs.replace(preview, due=due, warnings=[note, *preview.warnings])

    async def _with_crowding(self, preview: Preview, *, own: bool) -> Preview:
        """Warn if many other jobs fire at the same time. `own`: the job itself is stored."""
        fires = [due.fire_at for due in preview.due if not due.skipped]
        warning = await self._forecasts.hot_spot(fires, preview.timezone, own=own)
        if not warning:
            return preview
        return msgspec.structs.replace(preview, warnings=[warning, *preview.warnings])

    async def _with_windows(
        self, preview: Preview, team: str, labels: Mapping[str, str]
    ) -> Preview:
        if not preview.due:
            return preview
        since, until = preview.due[0].utc, preview.due[-1].fire_at + timedelta(seconds=1)
        windows = await windows_of(self._database, team, labels, since, until)
        return under_windows(preview, windows, labels)

    async def _start(self, after: datetime | None) -> datetime:
        """Return the instant after which to look; one without an offset is of UTC."""
        start = after or await self._database.clock()
        return start.replace(tzinfo=start.tzinfo or UTC)

    async def _job(self, team: str, name: str) -> asyncpg.Record | None:
        check_name("team", team)
        check_name("job", name)
        return await self._database.fetchrow(_Q["subject"], team=team, name=name)

    async def _current(self, team: str | None, schedule: Schedule) -> tuple[CompiledCalendar, ...]:
        """Return the calendars that a schedule names, as they are now."""
        if not schedule.calendars:
            return ()
        if team is None:
            raise InvalidInputError.at("team", "is missing; calendars are those of a team")
        check_name("team", team)
        names = schedule.calendars
        calendars = await current_calendars(self._database.fetch, team, names)
        check_known(team, names, calendars)
        return await self._calendars.closures(
            self._database.fetch, [calendars[name] for name in names]
        )


def _coming(
    subjects: Sequence[PreviewedJob], after: datetime, until: datetime, count: int
) -> dict[UUID, list[DueTime]]:
    coming = {}
    for subject in subjects:
        assert subject.job_id is not None, "they are stored"
        with suppress(MatinsError):
            due = due_times(subject, count, after)
            coming[subject.job_id] = [at for at in due if at.utc <= until]
    return coming


async def _look(subject: PreviewedJob, count: int, after: datetime) -> Preview:
    # in a thread, since a thousand due times of a rare schedule take a moment
    return await asyncio.to_thread(preview, subject, count, after)
