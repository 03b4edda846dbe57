"""Maintenance windows in memory. See `domain.ports.windows`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from matins.domain.jobs.spec import JobState
from matins.domain.jobs.windows import KEPT
from matins.domain.ports.windows import TeamWindows, WindowChange
from matins.domain.runs.admission.waiting import Rules
from matins.domain.runs.admission.windows import CAUSE
from matins.testing.memory.world import World


class MemoryWindows:
    """The windows of a world."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def change(
        self, team: str, name: str, decide: Callable[[TeamWindows], WindowChange]
    ) -> WindowChange:
        """See `domain.ports.windows.WindowChanges`."""
        world, now = self._world, self._world.now()
        team_id = world.teams.setdefault(team, len(world.teams) + 1)
        rules = world.rules_of(team_id)
        windows = {window.name: window for window in rules.windows}
        held = [
            row
            for row in world.waiting.values()
            if (row.team_id, row.cause, row.blocker) == (team_id, CAUSE, name)
        ]
        windows_shown = {
            key: window for key, window in windows.items() if window.ends_at > now or key == name
        }
        done = decide(TeamWindows(now, windows_shown, len(held)))
        if done.change == "unchanged":
            return done
        windows.pop(name, None)
        if done.change != "deleted":
            windows[name] = done.window
        kept = tuple(window for window in windows.values() if window.ends_at > now - KEPT)
        world.rules[team_id] = Rules(rules.revision + 1, kept)
        return done

    async def count_covered(self, team: str, labels: Mapping[str, str]) -> int:
        """See `domain.ports.windows.WindowChanges`."""
        return sum(
            job.team == team
            and job.state is not JobState.DELETED
            and job.spec.schedule is not None
            and labels.items() <= job.spec.labels.items()
            for job in self._world.jobs.values()
        )
