"""The SDK's methods for runs."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from matins.client.calls import ApiCalls
from matins.client.paths import job_path, query_of
from matins.domain.executors.protocol import RunStatus
from matins.domain.runs.inputs import GivenInput
from matins.domain.runs.outlook import Outlook
from matins.domain.runs.states import RunState
from matins.domain.runs.stopping import StopRetrying
from matins.domain.views import AttemptRecord, RunPage
from matins.insight.why.explanation import Explanation


class RunCalls:
    """Finds runs, looks at them, cancels or retries them. Part of `Matins`."""

    _calls: ApiCalls

    async def runs_page(
        self,
        *,
        team: str | None = None,
        state: RunState | None = None,
        since: datetime | None = None,
        before: UUID | None = None,
        limit: int = 100,
    ) -> RunPage:
        """Return a page of runs, newest due time first, of a team's jobs or of all."""
        query = query_of(team=team, state=state, since=since, before=before, limit=limit)
        return await self._calls.ask(RunPage, "GET", "/v1/runs", query=query)

    async def job_runs_page(
        self, team: str, name: str, *, before: UUID | None = None, limit: int = 100
    ) -> RunPage:
        """Return a page of a job's runs, newest due time first."""
        query = query_of(before=before, limit=limit)
        return await self._calls.ask(RunPage, "GET", job_path(team, name) + "/runs", query=query)

    async def get_run(self, run_id: UUID) -> RunStatus:
        """Return how a run stands. Cheap: poll it as often as you like."""
        return await self._calls.ask(RunStatus, "GET", f"/v1/runs/{run_id}")

    async def find_run(self, name: str, *, failed: bool = False) -> RunStatus:
        """Return the run that a name means: an id, the beginning of one, `team/job` for the last
        run of a job, or `team/job@2026-11-30T02:00`, in the job's zone unless with an offset.

        `failed`: the last run of the job that failed. Raises InvalidInputError where the name may
        mean several, which the message lists.
        """
        query = query_of(name=name, failed=failed or None)
        return await self._calls.ask(RunStatus, "GET", "/v1/runs/resolve", query=query)

    async def list_attempts(self, run_id: UUID) -> list[AttemptRecord]:
        """Return a run's attempts, first to last, with what they wrote."""
        return await self._calls.ask(list[AttemptRecord], "GET", f"/v1/runs/{run_id}/attempts")

    async def get_run_input(self, run_id: UUID) -> GivenInput:
        """Return what a trigger or a replay changed of the target for a run."""
        return await self._calls.ask(GivenInput, "GET", f"/v1/runs/{run_id}/input")

    async def explain_run(self, run_id: UUID) -> Explanation:
        """Return how a run came to where it stands, and what it waits for."""
        return await self._calls.ask(Explanation, "GET", f"/v1/runs/{run_id}/explanation")

    async def get_outlook(self, run_id: UUID) -> Outlook:
        """Return of a run that waits why it does, and when it will probably start.

        Raises ConflictError if it does not wait.
        """
        return await self._calls.ask(Outlook, "GET", f"/v1/runs/{run_id}/outlook")

    async def cancel_run(self, run_id: UUID) -> RunStatus:
        """End a run: at once while it waits, within a heartbeat of its executor while it runs."""
        return await self._calls.ask(RunStatus, "POST", f"/v1/runs/{run_id}/cancel")

    async def retry_run(self, run_id: UUID) -> RunStatus:
        """Make the next attempt of a run now. Raises ConflictError where it waits for none."""
        return await self._calls.ask(RunStatus, "POST", f"/v1/runs/{run_id}/retry")

    async def stop_retrying_run(self, run_id: UUID, *, reason: str = "") -> RunStatus:
        """End a run that waits for its next attempt: it is dead, and can be replayed.

        Raises ConflictError where it waits for none.
        """
        path = f"/v1/runs/{run_id}/stop-retrying"
        return await self._calls.ask(RunStatus, "POST", path, content=StopRetrying(reason))
