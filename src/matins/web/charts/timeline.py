"""The time line of a run: from when it was due over its attempts to its end, or to now."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from matins.domain.runs.states import Kind, RunState
from matins.domain.views import AttemptRecord, Run
from matins.web.wording import length

WIDTH: Final = 1000.0
LEAST: Final = 3.0
"""How wide a piece is at least, so that it is seen, of the width of all."""


class Piece(NamedTuple):
    """A stretch of time; `kind` is what went on, as its colour; `title` tells it on hovering."""

    x: float
    width: float
    kind: str
    title: str


class Milestone(NamedTuple):
    """What happened at an instant, and how long after the one before."""

    name: str
    at: datetime
    after_s: float | None = None
    what: str = ""


class Timeline(NamedTuple):
    """The pieces of the whole, those of each attempt by its number, and the milestones."""

    width: float
    pieces: list[Piece]
    attempts: dict[int, Piece]
    milestones: list[Milestone]
    label: str


def timeline(run: Run, attempts: Sequence[AttemptRecord], now: datetime) -> Timeline:
    """Draw the time of a run on one line, in the same scale for the whole and each attempt."""
    spans = _spans(run, attempts, now)
    begin, end = spans[0].begin, max(span.end for span in spans)
    scale = WIDTH / max((end - begin).total_seconds(), 0.001)
    pieces = [_piece(span, begin, scale) for span in spans]
    of_attempts = {
        span.number: piece for span, piece in zip(spans, pieces, strict=True) if span.number
    }
    label = ", ".join(piece.title for piece in pieces)
    return Timeline(WIDTH, pieces, of_attempts, _milestones(run, attempts), label)


class _Span(NamedTuple):
    begin: datetime
    end: datetime
    kind: str
    what: str
    number: int = 0


def _spans(run: Run, attempts: Sequence[AttemptRecord], now: datetime) -> list[_Span]:
    """Return what went on from the beginning on, without a gap."""
    claimed = run.claimed_at or run.fire_at
    spans = []
    if _is_in_line(run) and claimed > run.due_at:
        what = "jitter and claim" if run.fire_at > run.due_at else "claim"
        spans.append(_Span(run.due_at, claimed, "before", what))
    at, held = claimed, "in the queue"
    for attempt in attempts:
        if attempt.started_at > at:
            kind = "queued" if held == "in the queue" else "retrying"
            spans.append(_Span(at, attempt.started_at, kind, held))
        end = attempt.finished_at or now
        outcome = attempt.outcome or "running"
        what = f"attempt {attempt.number}, {outcome.replace('_', ' ')},"
        spans.append(_Span(attempt.started_at, end, outcome, what, attempt.number))
        at, held = end, "until the next attempt"
    last = run.finished_at or now
    if last > at and run.state is not RunState.RUNNING:
        what = {RunState.QUEUED: "in the queue", RunState.RETRYING: held}.get(run.state, "waiting")
        kind = run.state if run.finished_at is None else "waiting"
        spans.append(_Span(at, last, kind, what))
    return spans or [_Span(claimed, claimed, "before", "claim")]


def _is_in_line(run: Run) -> bool:
    """Return whether the due time belongs on the line: it is long past where one is made up for."""
    late = (run.claimed_at or run.fire_at) - run.due_at
    return run.kind != Kind.BACKFILL and late < timedelta(hours=1)


def _piece(span: _Span, begin: datetime, scale: float) -> Piece:
    x = (span.begin - begin).total_seconds() * scale
    width = max((span.end - span.begin).total_seconds() * scale, LEAST)
    x = min(x, WIDTH - width)
    title = f"{span.what} {length(span.end - span.begin)}"
    return Piece(round(x, 1), round(width, 1), span.kind, title)


def _milestones(run: Run, attempts: Sequence[AttemptRecord]) -> list[Milestone]:
    """Return the milestones that are reached, and the next attempt if it is known when."""
    stones = [Milestone("Due", run.due_at)]
    if run.fire_at > run.due_at:
        stones.append(_after(stones, "Fire time", run.fire_at, "jitter"))
    if run.claimed_at is not None:
        stones.append(_after(stones, "Claimed", run.claimed_at, "claim lag"))
    if attempts:
        stones.append(_after(stones, "Started", attempts[0].started_at, "in the queue"))
    if len(attempts) > 1:
        last = attempts[-1]
        stones.append(_after(stones, f"Attempt {last.number}", last.started_at, "since the first"))
    if run.finished_at is not None:
        what = "ran" if attempts else "waited"
        stones.append(_after(stones, "Finished", run.finished_at, what))
    elif run.retry_at is not None:
        stones.append(Milestone("Next attempt", run.retry_at))
    return stones


def _after(stones: Sequence[Milestone], name: str, at: datetime, what: str) -> Milestone:
    return Milestone(name, at, (at - stones[-1].at).total_seconds(), what)
