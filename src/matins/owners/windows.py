"""What owners do to maintenance windows. What a window does is decided by admission."""

from __future__ import annotations

from functools import partial
from typing import Final

from matins.domain.jobs.windows import Window
from matins.domain.ports import Hints
from matins.domain.ports.windows import TeamWindows, WindowChange, WindowChanges
from matins.domain.values.errors import ConflictError, NotFoundError, check
from matins.domain.values.names import check_name
from matins.domain.views import WindowChanged
from matins.kernel.hints import notify

WINDOWS_MAX: Final = 100
"""The most windows of one team that are in force or to come."""


class Windows:
    """Puts and deletes windows of teams."""

    def __init__(self, changes: WindowChanges, hints: Hints) -> None:
        self._changes = changes
        self._hints = hints

    async def put(self, team: str, window: Window) -> WindowChanged:
        """Make a window or change it; an equal one is left as it is.

        It holds from when this returns. Raises InvalidInputError, ConflictError when there are too
        many.
        """
        check_name("team", team)
        check_name("name", window.name)
        done = await self._changes.change(team, window.name, partial(put_window, team, window))
        jobs = await self._changes.count_covered(team, window.labels)
        if done.change == "changed":
            await notify(self._hints, "jobs")
        return WindowChanged(window, done.change, jobs, done.held)

    async def delete(self, team: str, name: str) -> WindowChanged:
        """End a window at once and forget it; what it held runs now. Raises NotFoundError."""
        check_name("team", team)
        check_name("name", name)
        done = await self._changes.change(team, name, partial(delete_window, team, name))
        await notify(self._hints, "jobs")
        return WindowChanged(done.window, done.change, held=done.held)


def put_window(team: str, window: Window, current: TeamWindows) -> WindowChange:
    """Return what becomes of a window that is put. Raises InvalidInputError, ConflictError."""
    old = current.windows.get(window.name)
    if old == window:
        return WindowChange("unchanged", window, current.held)
    check(window.problems(current.now))
    rest = [other for other in current.windows.values() if other.name != window.name]
    if sum(other.ends_at > current.now for other in rest) >= WINDOWS_MAX:
        message = f"team {team} has {WINDOWS_MAX} windows in force or to come; delete one first"
        raise ConflictError(message)
    return WindowChange("changed" if old else "created", window, current.held)


def delete_window(team: str, name: str, current: TeamWindows) -> WindowChange:
    """Return what becomes of a window that is deleted. Raises NotFoundError."""
    if name not in current.windows:
        raise NotFoundError(f"team {team} has no window {name!r}")
    return WindowChange("deleted", current.windows[name], current.held)
