"""Due times that follow the ends of runs, computed anew by audits: each from the row before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Protocol

import msgspec

from matins.domain.time.instants import SECOND
from matins.domain.timetables.timetable import Timetable

UNDER_WAY = timedelta(seconds=10)
"""An end that was being written when a chain began may count as before it or as in it."""


class EndedRun(Protocol):
    """What counts of a row: when it was due, and when it ended, if it has."""

    @property
    def due_at(self) -> datetime:
        """When it was due."""

    @property
    def finished_at(self) -> datetime | None:
        """When it ended."""


class Chain(msgspec.Struct, frozen=True):
    """A span of time in which a job follows ends, by one schedule and without a stop.

    It is due after `begin`, up to `end`. Its first delay counts from there, or from the end of a
    run that still went on then. Runs after `counts_since` count for `max_runs`.
    """

    begin: datetime
    end: datetime
    timetable: Timetable
    counts_since: datetime


def due_in(chain: Chain, runs: Sequence[EndedRun], since: datetime) -> Iterator[datetime]:
    """Yield when a job was due in a chain, from `since` on, whatever its runs' own due times say.

    The runs are in the order of their due times. Those before `since` are taken as they are; the
    last of them must be there.
    """
    begin = max(chain.begin, since - SECOND)
    before = [run for run in runs if run.due_at <= begin]
    awaited = _awaited_first(chain, before[-1] if before else None)
    count = sum(run.due_at > chain.counts_since for run in before)
    for run in runs[len(before) :]:
        if run.due_at > chain.end:
            break
        due = _next(chain, awaited, count, run.due_at)
        if due is not None and due <= run.due_at:
            yield due
        awaited = [] if run.finished_at is None else [run.finished_at]
        count += 1
    due = _next(chain, awaited, count)
    if due is not None and due <= chain.end:
        yield due


def _awaited_first(chain: Chain, last: EndedRun | None) -> list[datetime]:
    """From when the first delay counts: there may be two answers, or none while a run goes on."""
    if last is None:
        return [chain.begin]
    if last.finished_at is None:
        return []
    if last.finished_at > chain.begin:
        return [last.finished_at]
    if last.finished_at > chain.begin - UNDER_WAY:
        return [chain.begin, last.finished_at]
    return [chain.begin]


def _next(
    chain: Chain, awaited: Sequence[datetime], count: int, wanted: datetime | None = None
) -> datetime | None:
    """Return the next due time: the wanted one if that is right."""
    dues = [chain.timetable.next_after_end(end, count) for end in awaited]
    if wanted is not None and wanted in dues:
        return wanted
    return dues[0] if dues else None
