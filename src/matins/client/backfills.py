"""The SDK's part for backfills: past due times of a job are made up for."""

from __future__ import annotations

from uuid import UUID

from matins.client.calls import ApiCalls
from matins.client.paths import all_of, job_path, query_of
from matins.domain.runs.backfills.values import (
    Backfill,
    BackfillRequest,
    BackfillStarted,
    CancelBackfill,
)


class BackfillCalls:
    """Starts backfills, looks at them, pauses, resumes and cancels them. Part of `Matins`."""

    _calls: ApiCalls

    async def start_backfill(
        self, team: str, name: str, request: BackfillRequest, *, dry_run: bool = False
    ) -> BackfillStarted:
        """Make up for past due times of a job; a dry run only tells what it comes to.

        Raises ConflictError while the job has an unfinished backfill.
        """
        query = query_of(dry_run=dry_run or None)
        return await self._calls.ask(
            BackfillStarted,
            "POST",
            job_path(team, name) + "/backfills",
            content=request,
            query=query,
        )

    async def get_backfill(self, backfill_id: UUID) -> Backfill:
        """Return how far a backfill is, and what it leaves out and why."""
        return await self._calls.ask(Backfill, "GET", f"/v1/backfills/{backfill_id}")

    async def list_backfills(self, team: str, name: str | None = None) -> list[Backfill]:
        """Return the newest backfills of a job, or of all of a team's jobs."""
        path = all_of(team, "backfills") if name is None else job_path(team, name) + "/backfills"
        return await self._calls.ask(list[Backfill], "GET", path)

    async def pause_backfill(self, backfill_id: UUID) -> Backfill:
        """Let a backfill make no more runs until it is resumed."""
        return await self._calls.ask(Backfill, "POST", f"/v1/backfills/{backfill_id}/pause")

    async def resume_backfill(self, backfill_id: UUID) -> Backfill:
        """Let a paused backfill go on."""
        return await self._calls.ask(Backfill, "POST", f"/v1/backfills/{backfill_id}/resume")

    async def cancel_backfill(self, backfill_id: UUID, *, runs: bool = False) -> Backfill:
        """End a backfill; also the `runs` that it has made and that have not ended."""
        path = f"/v1/backfills/{backfill_id}/cancel"
        return await self._calls.ask(Backfill, "POST", path, content=CancelBackfill(runs))
