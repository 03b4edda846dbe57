"""The story of a due time that a job shares with the runs of other jobs, which it follows."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from matins.domain.executors.fleet import LATE
from matins.domain.runs.chains import Link, UpstreamRun, decide_link
from matins.domain.schedules.after_jobs import When
from matins.domain.values.ids import partition_of
from matins.insight.explain.english import listed
from matins.insight.why import words
from matins.insight.why.explanation import Standing, Step
from matins.insight.why.facts import Asked
from matins.insight.why.words import Told

_STARTS: dict[When, str] = {
    "all_success": "it starts when all that it follows have succeeded",
    "any_success": "it starts when any that it follows has succeeded",
    "all_done": "it starts when all that it follows have ended",
    "any_failure": "it starts when any that it follows has failed",
}


class ChainDue(NamedTuple):
    """Where a due time of a chain stands that has no row yet."""

    state: Standing
    steps: list[Step]
    told: Told


def is_open(asked: Asked, link: Link, recorded_until: datetime | None) -> bool:
    """Return whether a due time of a chain has no row, though it should have one some time."""
    begin = asked.job.revisions[0].effective_at
    return link.due_at > max(begin, recorded_until or begin)


def covers(link: Link, at: datetime) -> bool:
    """Return whether an instant is a due time of a chain."""
    return link.due_at <= at <= (link.due_until or link.due_at)


def upstream_steps(link: Link, now: datetime) -> list[Step]:
    """Return how each run stands that is followed."""
    return [_upstream(run, now) for run in link.upstream]


def _upstream(run: UpstreamRun, now: datetime) -> Step:
    if run.finished_at is not None:
        why = f": {run.reason}" if run.reason else ""
        return Step(run.finished_at, "upstream", f"{run.job}: {run.state}{why}")
    return Step(now, "upstream", f"{run.job}: {run.state or 'still to come'}")


def chain_due(asked: Asked, link: Link) -> ChainDue:
    """Tell of a due time of a chain that has no row yet."""
    verdict = decide_link(link)
    steps = upstream_steps(link, asked.now)
    if verdict is None:
        missing = [run for run in link.upstream if not run.is_over]
        waits = listed(f"{run.job} is {run.state or 'still to come'}" for run in missing)
        return ChainDue(Standing.TO_COME, steps, Told(_STARTS[link.when], waits))
    ended = max((run.finished_at for run in link.upstream if run.finished_at), default=asked.now)
    will = "start" if verdict.starts else f"be skipped: {verdict.reason}"
    if asked.now - ended <= LATE:
        return ChainDue(Standing.TO_BE_CLAIMED, steps, Told(f"it is about to {will}"))
    why = words.behind(asked.fleet.why_unclaimed(partition_of(asked.job.id)))
    summary = Told("what it follows has ended some time ago, and it has no row yet", why)
    return ChainDue(Standing.TO_BE_CLAIMED, steps, summary)
