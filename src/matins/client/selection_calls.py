"""The SDK's methods for all jobs that a team and labels select."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import msgspec

from matins.client.calls import ApiCalls
from matins.client.paths import all_of, query_of
from matins.domain.jobs.misfire import Missed
from matins.domain.jobs.pausing import NO_END, Pause
from matins.domain.jobs.selecting import (
    PauseMany,
    RelabelMany,
    ResumeMany,
    SelectionChanged,
    told_together,
)

AT_ONCE: Final = 500
"""So many jobs are changed by one request, so that none takes long."""

NO_LABELS: Final[Mapping[str, str]] = MappingProxyType({})

OnPart = Callable[[SelectionChanged], object]
"""Told of each part that is done, while there are more."""


class SelectionCalls:
    """Pauses, resumes and labels many jobs. Part of `Matins`.

    Each job is changed by itself, and so many at a time: repeat it after UnavailableError.
    """

    _calls: ApiCalls

    async def pause_jobs(
        self,
        team: str,
        labels: Mapping[str, str] = NO_LABELS,
        pause: Pause = NO_END,
        *,
        dry_run: bool = False,
        on_part: OnPart | None = None,
    ) -> SelectionChanged:
        """Pause all jobs of a team that have these labels, or all; one that is paused stays so."""
        many = PauseMany(pause.reason, pause.until, pause.missed, dict(labels))
        return await self._change_many(team, "pause", many, on_part, dry_run=dry_run)

    async def resume_jobs(
        self,
        team: str,
        labels: Mapping[str, str] = NO_LABELS,
        missed: Missed = "skip",
        *,
        reason: str = "",
        dry_run: bool = False,
        on_part: OnPart | None = None,
    ) -> SelectionChanged:
        """Let all paused jobs of a team that have these labels go on, or all that are paused."""
        many = ResumeMany(missed, reason, dict(labels))
        return await self._change_many(team, "resume", many, on_part, dry_run=dry_run)

    async def relabel_jobs(
        self,
        team: str,
        labels: Mapping[str, str] = NO_LABELS,
        add: Mapping[str, str] = NO_LABELS,
        drop: Sequence[str] = (),
        *,
        reason: str = "",
        dry_run: bool = False,
        on_part: OnPart | None = None,
    ) -> SelectionChanged:
        """Add labels to all jobs of a team that have these, or to all, and drop others."""
        many = RelabelMany(dict(add), list(drop), reason, dict(labels))
        return await self._change_many(team, "relabel", many, on_part, dry_run=dry_run)

    async def _change_many(
        self,
        team: str,
        deed: str,
        many: msgspec.Struct,
        on_part: OnPart | None,
        *,
        dry_run: bool,
    ) -> SelectionChanged:
        parts: list[SelectionChanged] = []
        after: str | None = None
        while True:
            query = query_of(dry_run=dry_run or None, after=after, limit=AT_ONCE)
            path = all_of(team, deed)
            part = await self._calls.ask(SelectionChanged, "POST", path, content=many, query=query)
            parts.append(part)
            after = part.next
            if after is None:
                return told_together(parts)
            if on_part is not None:
                on_part(told_together(parts))
