"""What to claim of one job now: pure, in whole seconds since 1970 where speed counts."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from math import inf
from typing import NamedTuple

import msgspec

from matins.domain.jobs.misfire import COUNT_MAX, ON_TIME, CatchUp, misfired, split_pending
from matins.domain.runs.claims import Claim, DueJob
from matins.domain.runs.ledger import RANGE_MIN
from matins.domain.runs.restores import UNCERTAIN
from matins.domain.runs.states import Kind, RunState
from matins.domain.values.durations import parse_duration
from matins.domain.values.errors import ScheduleError
from matins.domain.values.ids import run_id

PIECE_MAX = 100
"""The most rows of one job in one piece, so that a job that catches up holds up no other."""

LOOK_MAX = 10_000
"""The most due times of one job that are accounted for in one piece."""

NEVER_S = 1 << 62
"""The fire time of a job with no due time left."""

Rank = Callable[[DueJob], int | None]
"""Gives the place in the queue of the next run of a job; None: by the time of the claim."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ON_TIME_S = ON_TIME.total_seconds()
_SECOND = timedelta(seconds=1)


def slot_of(instant: datetime) -> int:
    """Return the slot of an instant: the first whole second at or after it, so that none is
    early.
    """
    return -((_EPOCH - instant) // _SECOND)


def seconds_of(instant: datetime) -> float:
    """Return an instant in seconds since 1970."""
    return (instant - _EPOCH).total_seconds()


def instant_of(second: float) -> datetime:
    """Return the instant of seconds since 1970."""
    return _EPOCH + timedelta(0, second)


class LoadedJob:
    """A job in the scheduler's memory, with its compiled schedule and where it stands."""

    __slots__ = (
        "armed",
        "busy",
        "due_s",
        "fire_s",
        "gone",
        "jitter_s",
        "job",
        "minds_others",
        "no_ranges_until_s",
        "open_since",
        "recorded_s",
        "timetable",
    )

    def __init__(self, job: DueJob) -> None:
        """Compile the schedule of a job that has a next due time. Raises ScheduleError."""
        if job.fault:
            raise ScheduleError(job.fault)
        assert job.next_due_at is not None
        assert job.next_fire_at is not None
        self.job = job
        self.timetable = job.timetable()
        self.jitter_s = parse_duration(job.schedule.jitter)
        self.due_s: int | None = slot_of(job.next_due_at)
        """The next due time to be claimed."""
        self.recorded_s = self.due_s - 1
        """Every due time up to here has its row."""
        self.fire_s = slot_of(job.next_fire_at)
        self.minds_others = job.overlap != "allow"
        """Whether it matters which of its runs are unfinished."""
        self.open_since = job.open_since
        """All its runs due before are over, but for those that admission knows of; where overlap is
        allowed, nobody asks for it.
        """
        self.armed = False
        """Whether its name lies in the slot of `fire_s`."""
        self.busy = False
        """Whether it was fired and is being claimed."""
        self.gone = False
        """Whether it was dropped from memory; an answer that comes later no longer concerns it."""
        self.no_ranges_until_s = 0
        """Up to here skipped due times get a row each: a range met a row that was there before."""
        if job.next_due_at.microsecond:
            raise ScheduleError(f"the due time {job.next_due_at} is not a whole second")

    def move_to(self, due_s: int | None) -> None:
        """Go on to the next due time to be claimed."""
        if due_s is not None:
            self.recorded_s = due_s - 1
        elif self.due_s is not None:
            self.recorded_s = self.due_s
        self.due_s = due_s
        self.fire_s = NEVER_S if due_s is None else self.timetable.fire_time_s(due_s)

    def catch_up_with(self, other: LoadedJob) -> None:
        """Be no further behind than another entry of the same job and revision."""
        if self.due_s is not None and self.due_s <= other.recorded_s:
            self.move_to(other.due_s)


class Plan(NamedTuple):
    """What to claim now, the due time that comes next, and how many due times were looked at."""

    claims: list[Claim]
    next_s: int | None
    looked_at: int


def _by_time(_job: DueJob) -> None:
    """Leave the rank of a run to its claim."""


def plan(
    entry: LoadedJob,
    now_s: float,
    rank: Rank = _by_time,
    *,
    must_ask: bool = False,
    uncertain_until_s: float = -inf,
) -> Plan:
    """Plan the claims of a job whose fire time has come: one in the common case.

    `rank` is asked for each run that is to be queued, in their order. `must_ask`: what is to run
    must be asked about, as something of the job is unfinished. So must whatever of it comes second.
    `uncertain_until_s`: what was due up to here may have run, in a database that was restored
    since. Raises whatever a broken schedule raises.
    """
    due_s = entry.due_s
    assert due_s is not None
    coming = entry.timetable.next_after_s(due_s)
    on_time = now_s - due_s - entry.jitter_s <= _ON_TIME_S
    if on_time and (coming is None or coming > now_s):
        due = instant_of(due_s)
        reason = entry.timetable.skip_reason(due_s)
        if reason:
            return Plan([_skipped(entry, [due], reason)], coming, 1)
        fire = due if entry.fire_s == due_s else instant_of(entry.fire_s)
        if must_ask:
            return Plan([_waiting(_queued(entry, due, fire))], coming, 1)
        return Plan([_queued(entry, due, fire, rank(entry.job))], coming, 1)
    claims, next_s, looked_at = _plan_many(entry, due_s, now_s, uncertain_until_s)
    claims = _ranked(entry, _asking(entry, claims, must_ask=must_ask), rank)
    return Plan(claims, next_s, looked_at)


def _plan_many(entry: LoadedJob, due_s: int, now_s: float, uncertain_until_s: float) -> Plan:
    """Account for several due times, or for a late one, in a piece of bounded size that a range
    ends.
    """
    now = instant_of(now_s)
    pending = _pending(entry, instant_of(due_s), now)
    complete = len(pending) < LOOK_MAX + COUNT_MAX
    room = len(pending) if complete else LOOK_MAX
    claims: list[Claim] = []
    done = 0
    verdicts = _verdicts(entry, pending, now, complete=complete)
    for verdict in _hold_uncertain(entry, verdicts, now, uncertain_until_s):
        group = verdict.due[: room - done]
        more, count = _claims_of(entry, group, verdict.skip_reason, PIECE_MAX - len(claims))
        claims += more
        done += count
        # A range that meets a row is refused. Nothing may follow it then, or the rows of the job
        # would have a gap, over which a later range would lie.
        if count < len(verdict.due) or claims[-1].due_until is not None:
            break
    last = pending[done - 1]
    next_s = entry.timetable.next_after_s(slot_of(last))
    return Plan(claims, next_s, len(pending))


def _verdicts(
    entry: LoadedJob, pending: Sequence[datetime], now: datetime, *, complete: bool
) -> list[CatchUp]:
    """Return what becomes of pending due times: its timetable says what never runs, then its
    policy.
    """
    policy = entry.job.misfire
    reasons = {due: entry.timetable.skip_reason(slot_of(due)) for due in pending}
    to_run = [due for due in pending if not reasons[due]]
    if not complete:  # all that is looked at now is older than the newest that may still run
        reasons |= dict.fromkeys(to_run, misfired(policy))
        to_run = []
    for verdict in split_pending(to_run, policy, now - timedelta(seconds=entry.jitter_s)):
        reasons |= dict.fromkeys(verdict.due, verdict.skip_reason or "")
    groups = groupby(pending, key=reasons.__getitem__)
    return [CatchUp(list(group), reason or None) for reason, group in groups]


def _hold_uncertain(
    entry: LoadedJob, verdicts: list[CatchUp], now: datetime, uncertain_until_s: float
) -> Iterator[CatchUp]:
    """Skip what the policy `all` would catch up though it may have run; `last` is bound enough."""
    on_time_s = seconds_of(now) - entry.jitter_s - _ON_TIME_S
    for verdict in verdicts:
        if verdict.skip_reason or entry.job.misfire.policy != "all":
            yield verdict
            continue
        due_s = [seconds_of(due) for due in verdict.due]
        count = min(bisect_right(due_s, uncertain_until_s), bisect_left(due_s, on_time_s))
        if count:
            yield CatchUp(verdict.due[:count], UNCERTAIN)
        if count < len(verdict.due):
            yield CatchUp(verdict.due[count:])


def _pending(entry: LoadedJob, due: datetime, now: datetime) -> list[datetime]:
    """Return the due times to account for, oldest first; the stored one counts whatever the
    rule says.
    """
    pending = [due, *entry.timetable.due_between(due, now, LOOK_MAX + COUNT_MAX - 1)]
    # Each fires before the next is due: only of the newest can the fire time lie ahead.
    if len(pending) > 1 and entry.timetable.fire_time(pending[-1]) > now:
        pending.pop()
    return pending


def _claims_of(
    entry: LoadedJob, group: Sequence[datetime], skip_reason: str | None, room: int
) -> tuple[list[Claim], int]:
    """Return the claims for the beginning of a group, and how many due times they account for."""
    if not group or room <= 0:
        return [], 0
    if skip_reason is None:
        due_times = group[:room]
        claims = [_queued(entry, due, entry.timetable.fire_time(due)) for due in due_times]
        return claims, len(claims)
    no_ranges_until = instant_of(entry.no_ranges_until_s)
    if group[0] <= no_ranges_until:
        due_times = [due for due in group[:room] if due <= no_ranges_until]
    elif len(group) > RANGE_MIN and skip_reason != UNCERTAIN:  # of those each is decided about
        return [_skipped(entry, group, skip_reason)], len(group)
    else:
        due_times = group[:room]
    return [_skipped(entry, [due], skip_reason) for due in due_times], len(due_times)


def _asking(entry: LoadedJob, claims: list[Claim], *, must_ask: bool) -> list[Claim]:
    """Have claims asked about: all, or all but the first that is to run; none where overlap is
    allowed.
    """
    if not entry.minds_others:
        return claims
    asked = []
    for claim in claims:
        runs = claim.state is RunState.QUEUED
        asked.append(_waiting(claim) if runs and must_ask else claim)
        must_ask = must_ask or runs
    return asked


def _ranked(entry: LoadedJob, claims: list[Claim], rank: Rank) -> list[Claim]:
    return [
        msgspec.structs.replace(claim, rank=rank(entry.job))
        if claim.state is RunState.QUEUED
        else claim
        for claim in claims
    ]


def _waiting(claim: Claim) -> Claim:
    return msgspec.structs.replace(claim, state=RunState.WAITING, open_since=None)


def _queued(entry: LoadedJob, due: datetime, fire: datetime, rank: int | None = None) -> Claim:
    job = entry.job
    return Claim(
        run_id(job.id, due, "scheduled"),
        job.id,
        job.revision,
        job.partition,
        job.pool,
        due,
        fire,
        follows_end=job.schedule.follows_end,
        priority=job.priority,
        rank=rank,
        open_since=entry.open_since if entry.minds_others else None,
    )


def _skipped(entry: LoadedJob, group: Sequence[datetime], reason: str) -> Claim:
    job = entry.job
    claim = Claim(
        run_id(job.id, group[0], Kind.SCHEDULED),
        job.id,
        job.revision,
        job.partition,
        job.pool,
        group[0],
        entry.timetable.fire_time(group[0]),
        state=RunState.SKIPPED,
        reason=reason,
        follows_end=job.schedule.follows_end,
    )
    if len(group) == 1:
        return claim
    coming = entry.timetable.next_after(group[-1])
    return msgspec.structs.replace(
        claim,
        due_until=group[-1],
        due_count=len(group),
        next_due_at=coming,
        next_fire_at=None if coming is None else entry.timetable.fire_time(coming),
    )
