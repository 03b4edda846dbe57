"""Restores in memory. See `domain.ports.restores`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec

from matins.domain.jobs.spec import JobState
from matins.domain.runs.admission.waiting import CLAIM, TO_BE_ADMITTED
from matins.domain.runs.restores import (
    JITTER_MAX,
    LEFT_OUT,
    UNCERTAIN,
    Restore,
    Resumed,
    Resumption,
    Watermarks,
)
from matins.domain.runs.states import Kind, RunState
from matins.testing.memory.rows import RunRow
from matins.testing.memory.world import World


class MemoryRestores:
    """See `domain.ports.restores.RestoreMarks` and `RestoreChanges`."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def watermarks(self) -> Watermarks | None:
        """See `domain.ports.restores.RestoreMarks`."""
        rows = self._world.partitions.values()
        watermarks = [row.watermark for row in rows if row.watermark is not None]
        return Watermarks(min(watermarks), max(watermarks)) if watermarks else None

    async def note_restore(self, lost_since: datetime, seen_until: datetime) -> None:
        """See `domain.ports.restores.RestoreMarks`."""
        restores, known = self._world.restores, await self.unresolved_restore()
        if known is None:
            restores.append(Restore(lost_since, seen_until, self._world.now()))
        else:
            restores[-1] = msgspec.structs.replace(
                known,
                lost_since=min(known.lost_since, lost_since),
                seen_until=max(known.seen_until, seen_until),
            )

    async def unresolved_restore(self) -> Restore | None:
        """See `domain.ports.restores.RestoreMarks`."""
        newest = await self.newest_restore()
        return None if newest is None or newest.resolved_at is not None else newest

    async def newest_restore(self) -> Restore | None:
        """See `domain.ports.restores.RestoreChanges`."""
        return self._world.restores[-1] if self._world.restores else None

    async def count_uncertain(self, restore: Restore, resumption: Resumption) -> Resumed:
        """See `domain.ports.restores.RestoreChanges`."""
        runs = self._uncertain(restore)
        starts = self._starts(runs, resumption)
        to_run = sum(map(starts, runs))
        jobs = len({run.job_id for run in runs})
        return Resumed(restore, len(runs), jobs, to_run, len(runs) - to_run)

    async def resolve(self, restore: Restore) -> None:
        """See `domain.ports.restores.RestoreChanges`."""
        if (known := await self.unresolved_restore()) and known.noticed_at == restore.noticed_at:
            self._world.restores[-1] = msgspec.structs.replace(known, resolved_at=self._world.now())

    async def resume(self, restore: Restore, resumption: Resumption, limit: int) -> tuple[int, int]:
        """See `domain.ports.restores.RestoreChanges`."""
        world, runs = self._world, self._uncertain(restore)
        starts = self._starts(runs, resumption)
        page = [(run, starts(run)) for run in runs[:limit]]
        for run, begins in page:
            if not begins:
                run.reason = LEFT_OUT
                continue
            job = world.jobs[run.job_id]
            run.reason, run.finished_at = TO_BE_ADMITTED, None
            world.wait(run, world.now(), CLAIM)
            world.move(run, RunState.WAITING)
            world.link_again(job, run.due_at)
            job.open_since = min(job.open_since, run.due_at)
        to_run = sum(begins for _, begins in page)
        return to_run, len(page) - to_run

    def _uncertain(self, restore: Restore) -> list[RunRow]:
        """Return the uncertain runs, oldest first."""
        since = restore.lost_since - JITTER_MAX
        runs = (
            run
            for run in self._world.runs.values()
            if run.kind is Kind.SCHEDULED and since < run.due_at <= restore.seen_until
            if run.state is RunState.SKIPPED and run.reason == UNCERTAIN
        )
        return sorted(runs, key=lambda run: (run.due_at, run.id))

    def _starts(self, runs: list[RunRow], resumption: Resumption) -> Callable[[RunRow], bool]:
        newest = {run.job_id: run.id for run in runs}

        def starts(run: RunRow) -> bool:
            if self._world.jobs[run.job_id].state is not JobState.ACTIVE or (
                resumption.since is not None and run.due_at < resumption.since
            ):
                return False
            is_last = newest[run.job_id] == run.id
            return resumption.missed == "all" or (resumption.missed == "last" and is_last)

        return starts
