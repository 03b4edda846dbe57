"""Maintenance windows: spans of time in which a team's scheduled runs are held back or skipped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

import msgspec

from matins.domain.values.errors import Problem
from matins.domain.values.names import name_problems
from matins.domain.values.texts import label_problems, length_problems

Policy = Literal["hold", "skip"]
"""What becomes of a run that meets a window: it waits for the window's end, or is skipped."""

WindowState = Literal["coming", "in_force", "past"]

LENGTH_MAX: Final = timedelta(days=31)
AHEAD_MAX: Final = timedelta(days=3660)
"""How far ahead a window may end."""

KEPT: Final = timedelta(days=30)
"""For so long windows that are over can still be seen."""

_REASON_MAX: Final = 500


class Window(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A window as its owner writes it: from `starts_at`, before `ends_at`.

    It is for all jobs of the team, or for those that have all of its `labels`.
    """

    name: str
    starts_at: datetime
    ends_at: datetime
    policy: Policy = "hold"
    labels: dict[str, str] = {}
    reason: str = ""
    """Why, for the rows of runs that it skips."""

    @property
    def hold_reason(self) -> str:
        """What the row of a run says that it holds."""
        until = self.ends_at.astimezone(UTC)
        return f"held by maintenance {self.name} until {until:%Y-%m-%dT%H:%M:%SZ}"

    @property
    def skip_reason(self) -> str:
        """What the row of a run says that it skips."""
        return f"maintenance {self.name}: {self.reason}".removesuffix(": ")

    @property
    def run_reason(self) -> str:
        """What the row of a run says that fires in it."""
        return self.hold_reason if self.policy == "hold" else self.skip_reason

    def state(self, now: datetime) -> WindowState:
        """Return where it stands."""
        if now < self.starts_at:
            return "coming"
        return "in_force" if now < self.ends_at else "past"

    def covers(self, labels: Mapping[str, str], instant: datetime) -> bool:
        """Return whether a job with these labels meets it at an instant."""
        is_meant = self.labels.items() <= labels.items()
        return is_meant and self.starts_at <= instant < self.ends_at

    def problems(self, now: datetime) -> list[Problem]:
        """Return all that is wrong with it, if it is put now."""
        problems = name_problems("name", self.name) + _span_problems(self, now)
        problems += label_problems(self.labels)
        return problems + length_problems("reason", self.reason, _REASON_MAX)


def window_at(
    windows: Iterable[Window], labels: Mapping[str, str], instant: datetime
) -> Window | None:
    """Return the window that decides about a job's run at an instant: one that skips, else the
    last to end.
    """
    blocking = [window for window in windows if window.covers(labels, instant)]
    return max(blocking, key=lambda window: (window.policy == "skip", window.ends_at), default=None)


def _span_problems(window: Window, now: datetime) -> list[Problem]:
    edges = {"starts_at": window.starts_at, "ends_at": window.ends_at}
    naive = [name for name, edge in edges.items() if edge.tzinfo is None]
    if naive:
        message = "has no offset from UTC; write 2026-12-01T22:00:00Z"
        return [Problem(name, message) for name in naive]
    if window.ends_at <= window.starts_at:
        return [Problem("ends_at", "must lie after starts_at")]
    if window.ends_at <= now:
        return [Problem("ends_at", "lies in the past; a window that is over would do nothing")]
    if window.ends_at - now > AHEAD_MAX:
        return [Problem("ends_at", "lies more than ten years ahead")]
    if window.ends_at - window.starts_at > LENGTH_MAX:
        message = f"is more than {LENGTH_MAX.days} days after starts_at; put several windows"
        return [Problem("ends_at", message)]
    return []
