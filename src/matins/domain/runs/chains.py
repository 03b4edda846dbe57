"""Chains: what becomes of a job's run that is due with those of other jobs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple
from uuid import UUID

import msgspec

from matins.domain.jobs.changes import LockedJob
from matins.domain.runs.admission.waiting import TO_BE_ADMITTED
from matins.domain.runs.claims import Claim
from matins.domain.runs.ledger import RANGE_MIN
from matins.domain.runs.states import Kind, RunState
from matins.domain.schedules.after_jobs import When
from matins.domain.values.ids import run_id

UPSTREAM: Final = "upstream "
"""How the reason of a run begins that is skipped because of what it follows."""

_REASON_MAX: Final = 500


class UpstreamRun(msgspec.Struct, frozen=True):
    """What a link of a chain waits for: the run of a job that it follows.

    Without a `state` it is still to come. Where there is none, and none will be, it is `skipped`.
    """

    job: str
    state: RunState | None = None
    reason: str = ""
    finished_at: datetime | None = None

    @property
    def is_over(self) -> bool:
        """Whether its end is known."""
        return self.finished_at is not None

    @property
    def failed(self) -> bool:
        """Whether it ran, or was to run, and did not succeed."""
        return self.is_over and self.state in (RunState.DEAD, RunState.CANCELLED)

    @property
    def succeeded(self) -> bool:
        """Whether it did what it was to do."""
        return self.is_over and self.state is RunState.SUCCEEDED


class Link(msgspec.Struct, frozen=True):
    """A due time of a job that is due with other jobs' runs, and how those stand.

    With `due_until` the leader's row stands for `due_count` due times that were skipped.
    `is_again`: it was skipped, and one of those runs has been replayed since.
    """

    job_id: UUID
    partition: int
    revision: int
    pool: str
    when: When
    due_at: datetime
    upstream: Sequence[UpstreamRun]
    due_until: datetime | None = None
    due_count: int = 1
    is_again: bool = False


class LinkPage(NamedTuple):
    """A page of links. `last` is the job after which the next page begins; None: there is none.

    `has_chains`: whether any chain waits for an answer; where none does there is nothing to settle.
    """

    links: list[Link]
    last: UUID | None = None
    has_chains: bool = True


class LinkVerdict(msgspec.Struct, frozen=True):
    """What becomes of a link: it starts, or it is skipped for a `reason`."""

    starts: bool
    reason: str = ""


def decide_link(link: Link) -> LinkVerdict | None:
    """Return whether what a link waits for lets it start; None: that is not known yet.

    What was skipped neither succeeded nor failed. `all_done` needs at least one that ran, so that
    nothing starts because a pause has ended, or a job was changed. Nor does a range start anything.
    """
    runs = link.upstream
    if link.due_until is not None:
        return LinkVerdict(False, _reasons(runs))
    is_over = all(run.is_over for run in runs)
    match link.when:
        case "all_success":
            is_met, lost = all(run.succeeded for run in runs), any(_is_missed(run) for run in runs)
        case "any_success":
            is_met, lost = any(run.succeeded for run in runs), is_over
        case "any_failure":
            is_met, lost = any(run.failed for run in runs), is_over
        case "all_done":
            is_met, lost = is_over and any(run.succeeded or run.failed for run in runs), is_over
    if is_met:
        return LinkVerdict(True)
    if not lost:
        return None
    if link.when == "any_failure" and all(run.succeeded for run in runs):
        return LinkVerdict(False, "upstream did not fail")
    return LinkVerdict(False, _reasons(runs))


def claim_of(link: Link, verdict: LinkVerdict) -> Claim:
    """Return the claim of a link that is decided. What starts is asked about as any other run."""
    ends = [run.finished_at for run in link.upstream if run.finished_at is not None]
    return Claim(
        run_id=run_id(link.job_id, link.due_at, Kind.CHAINED),
        job_id=link.job_id,
        revision=link.revision,
        partition=link.partition,
        pool=link.pool,
        due_at=link.due_at,
        fire_at=max(ends) if verdict.starts else link.due_at,
        kind=Kind.CHAINED,
        state=RunState.WAITING if verdict.starts else RunState.SKIPPED,
        reason=TO_BE_ADMITTED if verdict.starts else verdict.reason,
        due_until=link.due_until,
        due_count=link.due_count,
        follows_end=True,
    )


class LeaderRow(msgspec.Struct, frozen=True):
    """A row of the leader of a chain, and whether the chain has a row for it."""

    due_at: datetime
    due_until: datetime | None = None
    due_count: int = 1
    is_manual: bool = False
    is_settled: bool = False


class LeaderRows(msgspec.Struct, frozen=True):
    """Rows of the leader from where a chain stands. The leader's later rows are due from
    `bound` on; None: it is not due by itself.
    """

    rows: Sequence[LeaderRow] = ()
    bound: datetime | None = None


def skipped_links(job: LockedJob, rows: Sequence[LeaderRow], reason: str) -> list[Claim]:
    """Return claims that record as skipped what a chain has no rows for.

    Few get a row each, many in a row and on one day share one; what was triggered never does.
    """
    triggered = [row for row in rows if row.is_manual and not row.is_settled]
    rows = [row for row in rows if not row.is_manual]
    groups: list[list[LeaderRow]] = [[]]
    for row in rows:
        open_day = groups[-1][0].due_at.astimezone(UTC).date() if groups[-1] else None
        if row.is_settled or (open_day and row.due_at.astimezone(UTC).date() != open_day):
            groups.append([])
        if not row.is_settled:
            groups[-1].append(row)
    claims = []
    for group in groups:
        if len(group) > RANGE_MIN:
            last = group[-1].due_until or group[-1].due_at
            count = sum(row.due_count for row in group)
            claims.append(_skipped(job, LeaderRow(group[0].due_at, last, count), reason))
        else:
            claims += [_skipped(job, row, reason) for row in group]
    return claims + [_skipped(job, row, reason) for row in triggered]


def newest_links(rows: Sequence[LeaderRow], count: int) -> list[LeaderRow]:
    """Return the newest rows, so many, that a chain has no row for and that are to go on."""
    singles = [row for row in rows if not row.is_settled and row.due_until is None]
    return singles[len(singles) - count :] if len(singles) > count else singles


def _skipped(job: LockedJob, row: LeaderRow, reason: str) -> Claim:
    return Claim(
        run_id=run_id(job.id, row.due_at, Kind.CHAINED),
        job_id=job.id,
        revision=job.revision,
        partition=job.partition,
        pool=job.spec.pool,
        due_at=row.due_at,
        fire_at=row.due_at,
        kind=Kind.CHAINED,
        state=RunState.SKIPPED,
        reason=reason,
        due_until=row.due_until,
        due_count=row.due_count,
    )


def _is_missed(run: UpstreamRun) -> bool:
    return run.is_over and not run.succeeded


def _reasons(runs: Sequence[UpstreamRun]) -> str:
    """Return why what did not succeed did not."""
    reasons = "; ".join(_reason(run) for run in runs if _is_missed(run))
    return f"{UPSTREAM}{reasons}"[:_REASON_MAX]


def _reason(run: UpstreamRun) -> str:
    match run.state:
        case RunState.DEAD:
            what = "failed"
        case RunState.CANCELLED:
            what = "was cancelled"
        case _:
            what = "was skipped"
    return f"{run.job} {what}: {run.reason}" if run.reason else f"{run.job} {what}"
