"""Levels: whether a job is bad by a rule, from facts and the clock alone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from math import ceil
from typing import Final, NamedTuple

from matins.domain.alerts.edges import Level
from matins.domain.alerts.facts import JobFacts, SeenRun
from matins.domain.jobs.alerting import AlertRule, On, parse_bound
from matins.domain.jobs.misfire import MISFIRE
from matins.domain.jobs.spec import JobState
from matins.domain.runs.states import Kind, RunState
from matins.domain.values.durations import format_duration, parse_duration

RECENT: Final = 20
"""So many runs are seen in any case."""

P95_LEAST: Final = 10
"""So many successes say how long a job takes; fewer say nothing."""

P95_MOST: Final = 50
"""The runs from which it is reckoned."""

_UNSCHEDULED: Final = timedelta(seconds=30)
"""How often a job is looked at whose next run no schedule tells."""

_CLAIMED_BY: Final = timedelta(seconds=90)
"""By then after a fire time, what its misfire policy skipped has its row."""


class Look(NamedTuple):
    """A level, None where nothing is known, and when it may change by time alone."""

    level: Level | None
    again_at: datetime | None = None


def look(rule: AlertRule, facts: JobFacts, mark: datetime | None) -> Look:
    """Look at a job by a rule. `mark` is that of the last level of the rule.

    Of a job that is paused nothing is known, and of one in quarantine that alone.
    """
    if rule.on == "quarantined":
        return Look(_quarantined(facts))
    if facts.state is not JobState.ACTIVE:
        return Look(None)
    return _LOOKS[rule.on](rule, facts, mark or facts.watched_from)


def runs_needed(rule: AlertRule) -> int:
    """Return how many of a job's newest runs a rule has to see."""
    if rule.on == "failed":
        return 2 * max(rule.of or 0, rule.times or 0) + 5
    if rule.on in ("too_slow", "too_fast") and "p95" in f"{rule.over}{rule.under}":
        return P95_MOST
    return RECENT


def _quarantined(facts: JobFacts) -> Level:
    is_bad = facts.state is JobState.QUARANTINED
    return Level(is_bad, facts.changed_at, facts.reason if is_bad else "it is out of quarantine")


def _dead(_rule: AlertRule, facts: JobFacts, mark: datetime) -> Look:
    """It is bad from a death on that was not seen before, and until a success after it."""
    ended = facts.ended
    if not ended:
        return Look(None)
    newest = next((run for run in ended if run.state is RunState.DEAD), None)
    if newest is None or newest.finished_at is None:
        return Look(_well(ended[0]))
    if newest.finished_at > mark or ended[0] is newest:
        if newest.finished_at <= facts.watched_from:
            return Look(None)  # from before anybody was to be told
        return Look(_bad(newest, newest.finished_at, newest.reason, mark=newest.finished_at))
    return Look(_well(ended[0]))


def _failed(rule: AlertRule, facts: JobFacts, _mark: datetime) -> Look:
    times = rule.times or 1
    last = facts.ended[: rule.of or times]
    dead = [run for run in last if run.state is RunState.DEAD]
    if not last:
        return Look(None)
    if len(dead) < times:
        return Look(_well(last[0]))
    count = f"{times} times in a row" if rule.of is None else f"{len(dead)} of the last {len(last)}"
    return Look(_bad(dead[0], dead[-1].finished_at or facts.now, f"{count}: {dead[0].reason}"))


def _late(rule: AlertRule, facts: JobFacts, _mark: datetime) -> Look:
    bound = timedelta(seconds=parse_duration(rule.after or "0s"))
    unstarted = [run for run in facts.runs if run.attempt == 0 and run.state in _BEFORE_START]
    first = min(unstarted, key=lambda run: run.fire_at, default=None)
    coming = facts.next_fire_at
    if first is not None and facts.now - first.fire_at >= bound:
        reason = f"it was to start at {_instant(first.fire_at)} and has not:"
        return Look(_bad(first, first.fire_at + bound, f"{reason} {first.reason or first.state}"))
    if coming is not None and facts.now - coming >= bound:
        reason = f"it was to start at {_instant(coming)} and nobody has claimed it"
        return Look(Level(True, coming + bound, reason))
    fires = [at for at in (first and first.fire_at, coming) if at is not None]
    again_at = min(fires) + bound if fires else None
    started = [run for run in facts.runs if run.attempt == 1 and run.started_at is not None]
    if not started:
        return Look(None, again_at or facts.now + _UNSCHEDULED)
    newest = max(started, key=lambda run: run.started_at or run.fire_at)
    lag = (newest.started_at or newest.fire_at) - newest.fire_at
    if lag >= bound:
        reason = f"it started {format_duration(lag.total_seconds() // 1)} late"
        return Look(_bad(newest, newest.fire_at + bound, reason), again_at)
    return Look(_well(newest), again_at or facts.now + _UNSCHEDULED)


def _missed(_rule: AlertRule, facts: JobFacts, mark: datetime) -> Look:
    """It is bad from due times on that its misfire policy has skipped, and until the next start."""
    again_at = None if facts.next_fire_at is None else facts.next_fire_at + _CLAIMED_BY
    skipped = [run for run in facts.runs if _is_missed(run)]
    if not skipped:
        return Look(Level(False, facts.now, "nothing was missed"), again_at)
    newest = max(skipped, key=lambda run: run.claimed_at)
    followed = any(run.claimed_at >= newest.claimed_at and run.started_at for run in facts.runs)
    if newest.claimed_at > mark or not followed:
        if newest.claimed_at <= facts.watched_from:
            return Look(None, again_at)
        count = sum(run.due_count for run in skipped if run.claimed_at == newest.claimed_at)
        reason = f"{count} due times were missed and skipped, up to {_instant(newest.last_due_at)}"
        return Look(_bad(newest, newest.claimed_at, reason, mark=newest.claimed_at), again_at)
    return Look(Level(False, facts.now, "it runs again"), again_at)


def _did_not_run(rule: AlertRule, facts: JobFacts, _mark: datetime) -> Look:
    is_known = facts.succeeded_at is not None and facts.succeeded_at >= facts.expect_from
    base = max(facts.expect_from, facts.succeeded_at or facts.expect_from)
    by = facts.expected_by
    if rule.within is not None:
        by = base + timedelta(seconds=parse_duration(rule.within))
    if by is None:
        return Look(None)
    if facts.now < by:
        reason = f"it succeeded at {_instant(base)}" if is_known else "it has time yet"
        return Look(Level(False, base, reason), by)
    last = f"the last one was at {_instant(base)}" if is_known else "none is known"
    return Look(Level(True, by, f"no run has succeeded in time; {last}"))


def _too_slow(rule: AlertRule, facts: JobFacts, mark: datetime) -> Look:
    bound_s = _bound_s(rule.over or "", facts)
    if bound_s is None:
        return Look(None, _next_look(facts, 0.0))
    running = [run for run in facts.runs if run.state is RunState.RUNNING and run.started_at]
    slow = [run for run in running if _age_s(run, facts) >= bound_s]
    if slow:
        reason = f"it runs for longer than {_length(bound_s)}"
        return Look(_bad(slow[0], facts.now, reason))
    ages = [timedelta(seconds=bound_s - _age_s(run, facts)) for run in running]
    again_at = min([facts.now + age for age in ages] + [_next_look(facts, bound_s)])
    return Look(_by_length(facts, mark, lambda took_s: took_s >= bound_s, bound_s), again_at)


def _too_fast(rule: AlertRule, facts: JobFacts, mark: datetime) -> Look:
    bound_s = _bound_s(rule.under or "", facts)
    if bound_s is None:
        return Look(None, _next_look(facts, 0.0))
    level = _by_length(facts, mark, lambda took_s: took_s < bound_s, bound_s)
    return Look(level, _next_look(facts, bound_s))


def _by_length(
    facts: JobFacts, mark: datetime, is_wrong: Callable[[float], bool], bound_s: float
) -> Level | None:
    """Look at the runs that succeeded: it is bad by one not seen before, or by the newest."""
    over = [run for run in facts.ended if run.state is RunState.SUCCEEDED]
    if not over:
        return None
    wrong = [run for run in over if run.took_s is not None and is_wrong(run.took_s)]
    newest = wrong[0] if wrong else None
    if newest is None or newest.finished_at is None or newest.finished_at <= facts.watched_from:
        return _well(over[0])
    if newest.finished_at > mark or newest is over[0]:
        reason = f"it took {_length(newest.took_s or 0.0)}; the bound is {_length(bound_s)}"
        return _bad(newest, newest.finished_at, reason, mark=newest.finished_at)
    return _well(over[0])


def _bound_s(text: str, facts: JobFacts) -> float | None:
    """Return a bound in seconds; None while too few runs tell how long the job takes.

    The newest run is what is judged, so that it has no say in it.
    """
    bound = parse_bound(text)
    if bound.p95 is None:
        return bound.seconds
    over = [run for run in facts.ended if run.state is RunState.SUCCEEDED][1:]
    took = sorted(run.took_s for run in over if run.took_s is not None)
    if len(took) < P95_LEAST:
        return None
    return bound.p95 * took[ceil(0.95 * len(took)) - 1]


def _next_look(facts: JobFacts, bound_s: float) -> datetime:
    """Return when a run that is to come has lasted for so long."""
    bound = timedelta(seconds=bound_s)
    open_runs = any(run.state not in _OVER for run in facts.runs)
    if facts.next_fire_at is None or open_runs or facts.next_fire_at <= facts.now:
        return facts.now + _UNSCHEDULED
    return facts.next_fire_at + bound + timedelta(seconds=2)


def _is_missed(run: SeenRun) -> bool:
    return (
        run.kind is Kind.SCHEDULED
        and run.state is RunState.SKIPPED
        and run.reason.startswith(MISFIRE)
    )


def _bad(run: SeenRun, since: datetime, reason: str, mark: datetime | None = None) -> Level:
    return Level(True, since, reason, run.id, mark)


def _well(run: SeenRun) -> Level:
    since = run.finished_at or run.started_at or run.claimed_at
    return Level(False, since, f"run {run.id} is {run.state}", run.id)


def _age_s(run: SeenRun, facts: JobFacts) -> float:
    return (facts.now - (run.started_at or facts.now)).total_seconds()


def _length(seconds: float) -> str:
    return format_duration(round(seconds, 1))


def _instant(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


_BEFORE_START: Final = (RunState.WAITING, RunState.QUEUED)
_OVER: Final = (RunState.SUCCEEDED, RunState.DEAD, RunState.CANCELLED, RunState.SKIPPED)
_LOOKS: Final[dict[On, Callable[[AlertRule, JobFacts, datetime], Look]]] = {
    "dead": _dead,
    "failed": _failed,
    "late": _late,
    "missed": _missed,
    "did_not_run": _did_not_run,
    "too_slow": _too_slow,
    "too_fast": _too_fast,
}
