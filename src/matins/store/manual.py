"""Single runs that are made or ended by their owners. See `domain.ports.runs`."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import asyncpg
import msgspec

from matins.domain.executors.protocol import RunStatus
from matins.domain.jobs.targets import Target
from matins.domain.ports.runs import ChangedRun, FoundJob, KeyedRun, TriggeredRun
from matins.domain.runs.admission.open_runs import OpenRun
from matins.domain.runs.admission.waiting import Verdict
from matins.domain.runs.attempts import Result
from matins.domain.runs.fingerprint import Failure, failure_of
from matins.domain.runs.inputs import NO_INPUT, RunInput
from matins.domain.runs.states import Kind, RunState
from matins.domain.values.ids import due_of
from matins.store.chains import wake_followers
from matins.store.database import Database
from matins.store.days import with_days
from matins.store.dispatch import status_of
from matins.store.fleet import PostgresFleet
from matins.store.job_rows import as_json
from matins.store.past import around
from matins.store.queries import load_queries

_Q = load_queries("manual.sql")


class PostgresRunChanges:
    """See `domain.ports.runs.RunChanges`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._fleet = PostgresFleet(database)

    async def find_job(
        self, team: str, name: str, key: str | None = None, replay_of: UUID | None = None
    ) -> FoundJob | None:
        """See `domain.ports.runs.RunChanges`."""
        row = await self._database.fetchrow(
            _Q["find_job"], team=team, name=name, key=key, replay_of=replay_of
        )
        if row is None:
            return None
        return FoundJob(
            row["id"],
            row["now"],
            row["overlap"],
            None if row["open_id"] is None else _open_run(row),
            _target(row["target"]),
            KeyedRun(row["run_id"], row["fingerprint"]) if row["run_id"] else None,
            row["has_letter"],
        )

    async def trigger(  # noqa: PLR0913 # what a run is made of
        self,
        run_id: UUID,
        job_id: UUID,
        due_at: datetime,
        verdict: Verdict,
        run_input: RunInput = NO_INPUT,
        key: str | None = None,
        *,
        allow_overlap: bool = False,
        replay_of: UUID | None = None,
        by: str = "",
    ) -> TriggeredRun | None:
        """See `domain.ports.runs.RunChanges`. The status says why the run waits."""

        async def insert() -> asyncpg.Record | None:
            return await self._database.fetchrow(
                _Q["trigger"],
                run_id=run_id,
                job_id=job_id,
                due_at=due_at,
                state=verdict.state,
                reason=verdict.reason,
                allow_overlap=allow_overlap,
                input=None if run_input == NO_INPUT else as_json(run_input),
                key=key,
                fingerprint=run_input.fingerprint(allow_overlap=allow_overlap, replay_of=replay_of),
                replay_of=replay_of,
                by=by,
            )

        try:
            row = await with_days(self._database, [due_at], insert)
        except asyncpg.UniqueViolationError:  # the key stands for a run that was made meanwhile
            return None
        if row is None:
            return None
        [status] = await self._fleet.tell_waiting([row], [status_of(row)])
        return TriggeredRun(status, row["pool"])

    async def cancel(self, run_id: UUID, reason: str) -> ChangedRun | None:
        """See `domain.ports.runs.RunChanges`."""
        row = await self._database.fetchrow(
            _Q["cancel"], run_id=run_id, due_at=due_of(run_id), reason=reason
        )
        if row is None:
            return None
        await wake_followers(self._database)
        return ChangedRun(status_of(row), row["job_id"])

    async def retry_now(self, run_id: UUID) -> ChangedRun | None:
        """See `domain.ports.runs.RunChanges`."""
        row = await self._database.fetchrow(_Q["retry_now"], run_id=run_id, due_at=due_of(run_id))
        return None if row is None else ChangedRun(status_of(row), row["job_id"])

    async def stop_retrying(self, run_id: UUID, reason: str) -> ChangedRun | None:
        """See `domain.ports.runs.RunChanges`. Should another attempt end meanwhile, the letter
        tells of the one before.
        """
        run = {"run_id": run_id, "due_at": due_of(run_id)}
        last = await self._database.fetchrow(_Q["last_attempt"], **run)
        failure = Failure() if last is None else failure_of(msgspec.convert(dict(last), Result))
        row = await self._database.fetchrow(
            _Q["stop_retrying"], **run, reason=reason, **failure._asdict()
        )
        if row is None:
            return None
        await wake_followers(self._database)
        return ChangedRun(status_of(row), row["job_id"])

    async def replay(self, run_id: UUID, by: str = "") -> RunStatus | None:
        """See `domain.ports.runs.RunChanges`. A day that is over is opened again."""
        due_at = due_of(run_id)
        status = await self.status(run_id)
        if status is None or status.state is not RunState.DEAD:
            return None
        if not await self._database.fetch(_Q["reopen_day"], due_at=due_at):
            return None
        row = await self._database.fetchrow(_Q["replay"], run_id=run_id, due_at=due_at, by=by)
        return None if row is None else status_of(row)

    async def status(self, run_id: UUID) -> RunStatus | None:
        """See `domain.ports.runs.RunChanges`. It says why the run waits."""
        due_at = due_of(run_id)
        query = around(due_at, due_at).pin(_Q["status"])
        row = await self._database.fetchrow(query, run_id=run_id, due_at=due_at)
        if row is None:
            return None
        [status] = await self._fleet.tell_waiting([row], [status_of(row)])
        return status


def _target(text: str | None) -> Target | None:
    try:
        return msgspec.json.decode(text or "", type=Target)
    except msgspec.DecodeError:
        return None


def _open_run(row: asyncpg.Record) -> OpenRun:
    return OpenRun(
        id=row["open_id"],
        due_at=row["due_at"],
        claimed_at=row["claimed_at"],
        kind=Kind(row["kind"]),
        state=RunState(row["state"]),
        attempt=row["attempt"],
        cancel_at=row["cancel_at"],
        awaits_replay=bool(row["awaits_replay"]),
    )
