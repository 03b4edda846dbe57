"""Runs that end by themselves, chains of them, and an agenda that has trouble with following."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from uuid import UUID

from tests.unit.scheduler.ground import Ground, seconds

from matins.domain.runs.claims import Advance, FollowUp
from matins.domain.runs.states import FINAL, RunState
from matins.domain.values.errors import UnavailableError
from matins.testing.memory.agenda import MemoryAgenda
from matins.testing.memory.rows import RunRow
from matins.testing.memory.world import JobRow, World


class Troubled(MemoryAgenda):
    """An agenda that loses follow-ups while `losing`, or their answers, and is slow to advance."""

    losing = 0
    done = False
    others = False
    advance_s = 0.0

    async def write_follow_ups(self, follow_ups: Sequence[FollowUp]) -> set[UUID]:
        """See `domain.ports.Agenda`."""
        if self.others:
            await super().write_follow_ups(follow_ups)
        if not self.losing:
            return await super().write_follow_ups(follow_ups)
        self.losing -= 1
        if self.done:
            await super().write_follow_ups(follow_ups)
        raise UnavailableError("the answer was lost")

    async def advance(self, holder: UUID, advances: Sequence[Advance]) -> None:
        """See `domain.ports.Agenda`."""
        await asyncio.sleep(self.advance_s)
        await super().advance(holder, advances)


def end(world: World, run: RunRow, state: RunState = RunState.SUCCEEDED) -> None:
    """Let a run come to its end now."""
    if run.state not in FINAL:
        run.finished_at = world.now()
        world.move(run, state)


def let_runs_last(ground: Ground, lasts_s: float, state: RunState = RunState.SUCCEEDED) -> None:
    """Let each run that is made end after so many seconds."""

    def watch(run: RunRow, before: RunState | None) -> None:
        if before is None and run.state is RunState.QUEUED:
            loop = asyncio.get_running_loop()
            loop.call_later(lasts_s, end, ground.world, run, state)

    ground.world.watchers.append(watch)


def insist_on_the_chain(ground: Ground, job: JobRow, delay_s: float, *, lag_s: float = 1.0) -> None:
    """Each run was due at the first whole second after the delay, and claimed soon after it."""
    runs = ground.runs(job)
    for before, run in pairwise(runs):
        assert before.finished_at is not None
        rest_s = seconds(run.due_at) - seconds(before.finished_at) - delay_s
        assert 0 <= rest_s < 1
    assert all((run.claimed_at - run.due_at).total_seconds() < lag_s for run in runs)
