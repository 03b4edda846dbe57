"""Next due times follow the zone data: a new version of it computes them anew, from now on.

They are compared again every hour, because a process that still has older data, while a new version
is rolled out, goes on to write what that says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

import asyncpg
import structlog

from matins.domain.ports import Clock, Hints
from matins.domain.ports.jobs import JobRef, JobUpkeep
from matins.domain.time.zones import data_version
from matins.domain.timetables.timetable import Timetable
from matins.domain.values.errors import UnavailableError
from matins.kernel.hints import notify
from matins.kernel.metrics import DUE_CORRECTED, UPKEEP_BROKEN, ZONE_DATA_BEHIND
from matins.kernel.service import pause
from matins.store.database import Database
from matins.store.past import newest_runs
from matins.store.queries import load_queries
from matins.store.timings import KnownCalendars, Versions, schedule_of, timing_of

AGAIN: Final = timedelta(hours=1)
"""How long after a comparison the next one follows, when the zone data stays the same."""

PAGE: Final = 1_000
"""The most jobs that are read, and corrected, at once."""

LOOK_BACK: Final = timedelta(days=2)
"""How far back a due time may lack its row: zone data moves none by more than a day and some hours
(Samoa left out a day in 2011). What lies before has its row, or had it once.
"""

REASON: Final = "zone data changed"
"""Why a due time does not run that new zone data puts before now."""

_PAUSE_S: Final = 1.0
"""After a page with corrections: schedulers read again all that changed in their last seconds."""

_SLICE: Final = 50
"""The most jobs that are looked at before others of this process have their turn."""

_FIRST: Final = UUID(int=0)

_Q = load_queries("zone_data.sql")

log = structlog.get_logger()


class _Recorded(NamedTuple):
    """The version that was recorded last, empty before the first time, and the present."""

    version: str
    computed_at: datetime
    now: datetime


class Correction(NamedTuple):
    """What a job's next due time becomes. `owed_after`: later due times, up to now, lack rows."""

    job_id: UUID
    team: str
    name: str
    revision: int
    was_due_at: datetime
    next_due_at: datetime | None
    next_fire_at: datetime | None
    owed_after: datetime | None


class ZoneKeeper:
    """Walks over all jobs with a next due time. Any number of them do no harm to each other."""

    def __init__(
        self,
        database: Database,
        jobs: JobUpkeep,
        calendars: KnownCalendars,
        hints: Hints,
        clock: Clock,
        stopping: asyncio.Event,
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._calendars = calendars
        self._hints = hints
        self._clock = clock
        self._stopping = stopping

    async def follow(self) -> None:
        """Compare, and correct, if it is time. What was interrupted is done again by the next call.

        A job that can't be computed is left to its scheduler, which quarantines it.
        """
        recorded = await self._recorded()
        ours = data_version()
        ZONE_DATA_BEHIND.set(recorded.version > ours)
        if not recorded.version:
            await self._database.fetch(_Q["record"], version=ours)
        elif recorded.version > ours:
            log.error("zone_data.behind", ours=ours, recorded=recorded.version)
        elif recorded.version < ours or recorded.now - recorded.computed_at >= AGAIN:
            await self._walk(recorded.version, ours)

    async def _walk(self, before: str, ours: str) -> None:
        """Look at all jobs, page by page; the version is recorded when nothing was left over."""
        begun_s = self._clock.elapsed_s()
        after, seen, corrected, left = _FIRST, 0, 0, 0
        full = True
        while full:
            recorded = await self._recorded()
            if self._stopping.is_set() or recorded.version > ours:
                return
            now = recorded.now
            rows = await self._database.fetch(_Q["page"], after=after, at=now, limit=PAGE)
            wanted = await self._settle_all(await self._compare(rows, now), now)
            written = await self._write(wanted)
            seen, corrected = seen + len(rows), corrected + written
            left += len(wanted) - written
            full = len(rows) == PAGE
            if full:
                after = rows[-1]["id"]
                await pause(_PAUSE_S if written else 0, self._clock, self._stopping)
        if not left:
            await self._database.fetch(_Q["record"], version=ours)
        log.info(
            "zone_data.compared",
            before=before,
            now=ours,
            jobs=seen,
            corrected=corrected,
            left=left,
            seconds=round(self._clock.elapsed_s() - begun_s, 3),
        )

    async def _recorded(self) -> _Recorded:
        row = await self._database.fetchrow(_Q["recorded"])
        assert row is not None
        return _Recorded(row["version"] or "", row["computed_at"] or row["now"], row["now"])

    async def _compare(self, rows: Sequence[asyncpg.Record], now: datetime) -> list[Correction]:
        """Find what is to be corrected. A row of the ledger is looked up only where in doubt."""
        versions = await self._calendars.versions(self._database.fetch, rows)
        doubtful = []
        for index, row in enumerate(rows):
            if index % _SLICE == _SLICE - 1:
                await self._clock.sleep(0)
            if _judge(row, versions, now, None):
                doubtful.append(row)
        if not doubtful:
            return []
        newest = await newest_runs(self._database.fetch, [row["id"] for row in doubtful])
        until = {job_id: row["due_until"] or row["due_at"] for job_id, row in newest.items()}
        found = [_judge(row, versions, now, until.get(row["id"])) for row in doubtful]
        return [it for it in found if it is not None]

    async def _settle_all(
        self, corrections: Sequence[Correction], now: datetime
    ) -> list[Correction]:
        """Put on record what is owed by the new rules; gives those for which that succeeded."""
        return [it for it in corrections if it.owed_after is None or await self._settle(it, now)]

    async def _settle(self, it: Correction, now: datetime) -> bool:
        """Skip what a job owes; False if it has changed meanwhile, or is broken."""
        ref = JobRef(it.team, it.name, it.job_id, it.revision)
        after = it.owed_after or now
        try:
            return await self._jobs.skip_missing(ref, after=after, now=now, reason=REASON)
        except UnavailableError:
            raise
        except Exception as error:  # whatever it is, it must not stop the others
            _broken(it.job_id, error)
        return False

    async def _write(self, corrections: Sequence[Correction]) -> int:
        """Write new revisions, and tell the schedulers; gives how many were written.

        A job that was changed or has come due meanwhile is left as it is.
        """
        if not corrections:
            return 0
        rows = await self._database.fetch(
            _Q["correct"],
            job_ids=[it.job_id for it in corrections],
            revisions=[it.revision for it in corrections],
            was_due_ats=[it.was_due_at for it in corrections],
            next_due_ats=[it.next_due_at for it in corrections],
            next_fire_ats=[it.next_fire_at for it in corrections],
        )
        DUE_CORRECTED.inc(len(rows))
        await notify(self._hints, "jobs")
        return len(rows)


def _judge(
    row: asyncpg.Record, versions: Versions, now: datetime, last: datetime | None
) -> Correction | None:
    """What is to be corrected of one job, whose last row of the ledger accounts up to `last`.

    None also for one that can't be computed.
    """
    try:
        timing = timing_of(row, versions)
        timetable = timing.compile(schedule_of(row["schedule"]), row["id"])
        accounted_until = max(timing.since, now - LOOK_BACK, last or timing.since)
        return correction(row, timetable, now, accounted_until)
    except Exception as error:  # whatever it is, it must not stop the others
        _broken(row["id"], error)
        return None


def correction(
    row: asyncpg.Record, timetable: Timetable, now: datetime, accounted_until: datetime
) -> Correction | None:
    """What is to be corrected of a job whose due times up to an instant have their rows."""
    due = timetable.next_after(max(now, row["changed_at"], accounted_until))
    fire = timetable.fire_time(due) if due else None
    if (due, fire) == (row["next_due_at"], row["next_fire_at"]):
        return None
    owed = timetable.next_after(accounted_until)
    return Correction(
        row["id"],
        row["team"],
        row["name"],
        row["revision"],
        row["next_due_at"],
        due,
        fire,
        accounted_until if owed and owed <= now else None,
    )


def _broken(job_id: UUID, error: Exception) -> None:
    UPKEEP_BROKEN.inc()
    log.warning("upkeep.job_broken", job=str(job_id), error=f"{type(error).__name__}: {error}")
