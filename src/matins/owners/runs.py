"""What owners do to single runs: trigger one, cancel one."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from matins.domain.executors.protocol import RunStatus
from matins.domain.ports import Hints
from matins.domain.ports.runs import RunChanges
from matins.domain.runs.states import Kind
from matins.domain.values.errors import ConflictError, NotFoundError
from matins.domain.values.ids import names_instant, run_id, whole_ms
from matins.domain.values.names import check_name
from matins.kernel.hints import notify

_MS = timedelta(milliseconds=1)


class Runs:
    """Triggers and cancels runs."""

    def __init__(self, changes: RunChanges, hints: Hints) -> None:
        self._changes = changes
        self._hints = hints

    async def trigger(self, team: str, name: str) -> RunStatus:
        """Queue a run of a job now, also of a paused one; its due time is now, in whole ms.

        When the answer is lost, the run may have been made: list the job's runs before repeating.
        """
        check_name("team", team)
        check_name("name", name)
        due_at = None
        while job := await self._changes.find_job(team, name):
            # when another was triggered in this very millisecond, the next one is taken
            due_at = due_at + _MS if due_at else whole_ms(job.now)
            run = run_id(job.id, due_at, Kind.MANUAL)
            if made := await self._changes.trigger(run, job.id, due_at):
                await notify(self._hints, "dispatch", made.pool)
                return made.status
        raise NotFoundError(f"team {team} has no job {name!r}")

    async def cancel(self, run: UUID) -> RunStatus:
        """End a run that waits; ask for the end of one that is running.

        Its executor hears of it in the answer to its next heartbeat. Raises ConflictError when the
        run has ended, NotFoundError when there is none.
        """
        if not names_instant(run):
            raise NotFoundError(f"there is no run {run}")
        if status := await self._changes.cancel(run):
            return status
        state = await self._changes.state(run)
        if state is None:
            raise NotFoundError(f"there is no run {run}")
        raise ConflictError(f"the run has ended already: it is {state}")
