"""What changes of maintenance windows need of the world. See `domain.ports`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

from matins.domain.jobs.windows import Window


class TeamWindows(NamedTuple):
    """The windows of a team under its lock: those in force or to come, and the one of a name.

    `now` is the database's clock, `held` how many runs the window of that name holds.
    """

    now: datetime
    windows: Mapping[str, Window]
    held: int


class WindowChange(NamedTuple):
    """What becomes of a window, or became of it: it is written, deleted or left as it is."""

    change: Literal["created", "changed", "unchanged", "deleted"]
    window: Window
    held: int = 0


class WindowChanges(Protocol):
    """The windows of all teams."""

    async def change(
        self, team: str, name: str, decide: Callable[[TeamWindows], WindowChange]
    ) -> WindowChange:
        """Do what is decided about the window of a name, in one transaction; return the decision.

        The team is made on first use, and locked. With the window the revision of its rules is
        written. What `decide` raises is raised, and changes nothing.
        """

    async def count_covered(self, team: str, labels: Mapping[str, str]) -> int:
        """Return how many jobs of the team with a schedule have all of these labels."""
