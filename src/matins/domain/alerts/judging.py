"""One look at one job: its rules, how it stands by each of them, what is told, and when to look
again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

import msgspec

from matins.domain.alerts.edges import STEADY, Edge, RuleStanding, Turn, step
from matins.domain.alerts.facts import JobFacts, SeenRun
from matins.domain.alerts.levels import RECENT, look, runs_needed
from matins.domain.alerts.ruling import expected_by, rules_of
from matins.domain.jobs.alerting import AlertRule, AlertRules
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.jobs.windows import Window, window_at
from matins.domain.runs.states import RunState
from matins.domain.timetables.timetable import Timetable

IN_ANY_CASE: Final = timedelta(days=1)
"""Nothing goes without a look for longer."""

PUT_OFF: Final = timedelta(hours=1)
"""A job that can't be read or judged is looked at again after this."""

_AT_LEAST: Final = timedelta(seconds=1)


class Subject(msgspec.Struct, frozen=True):
    """A job as it is read for a look. `believed`: when it was looked at before.

    `runs`: its newest, none of a backfill. `timetable`: None where no due times are known.
    """

    facts: JobFacts
    team: str
    believed: datetime | None
    was_active: bool
    took_s: float
    revision: int
    of_team: Sequence[AlertRules] = ()
    windows: Sequence[Window] = ()
    standings: Mapping[str, RuleStanding] = {}
    timetable: Timetable | None = None


class Judged(NamedTuple):
    """What a look has made of a job: how it stands by each rule that matters, the edges by rule,
    and when it is to be looked at again.
    """

    facts: JobFacts
    took_s: float
    standings: dict[str, RuleStanding]
    edges: list[tuple[AlertRule, Edge]]
    look_at: datetime
    rules: Mapping[str, AlertRule]

    @property
    def bad_since(self) -> datetime | None:
        """When the job turned bad by the last of the rules by which it is; None if it is by none.

        Only a change makes it well again, and that is looked for: see `Lookout.wake`.
        """
        bad = [standing.since for standing in self.standings.values() if standing.is_bad]
        return max(bad, default=None)


def depth(spec: JobSpec, of_team: Iterable[AlertRules]) -> int:
    """Return how many of a job's newest runs are to be read."""
    return max(map(runs_needed, rules_of(spec, of_team).values()), default=RECENT)


def judge(subject: Subject) -> Judged:
    """Look at a job. In a maintenance window all stays as it was, and what a success is expected
    from is moved to its end.
    """
    facts, took_s = _learned(subject)
    rules = rules_of(facts.spec, subject.of_team)
    window = window_at(subject.windows, facts.spec.labels, facts.now)
    if window is not None:
        quiet = msgspec.structs.replace(facts, expect_from=max(facts.expect_from, window.ends_at))
        return Judged(quiet, took_s, dict(subject.standings), [], window.ends_at, rules)
    standings = {
        key: standing.at_rest for key, standing in subject.standings.items() if key not in rules
    }
    edges: list[tuple[AlertRule, Edge]] = []
    look_ats = [facts.now + IN_ANY_CASE]
    for key, rule in rules.items():
        if rule.on == "recovered":
            continue
        before = subject.standings.get(key)
        seen = look(rule, facts, None if before is None else before.mark)
        after, edge = step(before, seen.level, facts.now, rule.remind_s)
        if not after.is_blank:
            standings[key] = after
        if edge is not None and (edge.turn is not Turn.WELL or "recovered" in rules):
            edges.append((rule, edge))
        look_ats += [at for at in (seen.again_at, *_changes_by_time(after, rule)) if at is not None]
        if after.looked_at > facts.now:  # the clock was put back, and nothing of this look counts
            look_ats.append(after.looked_at + _AT_LEAST)
    look_at = max(min(look_ats), facts.now + _AT_LEAST)
    return Judged(facts, took_s, standings, edges, look_at, rules)


def put_off(subject: Subject) -> Judged:
    """Return what becomes of a job that can't be judged: all stays as it was for an hour."""
    facts = subject.facts
    standings, look_at = dict(subject.standings), facts.now + PUT_OFF
    return Judged(facts, subject.took_s, standings, [], look_at, rules={})


def named_for(rule: AlertRule, turn: Turn, rules: Mapping[str, AlertRule]) -> list[str]:
    """Return the channels that are named for an edge of a rule."""
    recovered = rules.get("recovered")
    return recovered.to if turn is Turn.WELL and recovered and recovered.to else rule.to


def channels_of(named: Collection[str], known: Iterable[str]) -> list[str]:
    """Return the channels that are told: those that are named, of those that the team has.

    Where none of them exists, all are told: a message that reaches somebody else is better than
    none.
    """
    all_known = list(known)
    return [name for name in all_known if name in named] or all_known


def _learned(subject: Subject) -> tuple[JobFacts, float]:
    """Return the facts with what the newest runs and the schedule tell of successes."""
    facts, took_s = subject.facts, subject.took_s
    expect_from, succeeded_at = facts.expect_from, facts.succeeded_at
    if facts.state is JobState.ACTIVE and not subject.was_active:
        expect_from = facts.now
    newest = _newest_success(facts.runs)
    if newest is not None and newest.finished_at is not None:
        succeeded_at = max(newest.finished_at, succeeded_at or newest.finished_at)
        took_s = newest.took_s or 0.0
    by = None
    if subject.timetable is not None:
        by = expected_by(subject.timetable, max(expect_from, succeeded_at or expect_from), took_s)
    learned = msgspec.structs.replace(
        facts, expect_from=expect_from, succeeded_at=succeeded_at, expected_by=by
    )
    return _with_next(learned, subject.timetable), took_s


def _with_next(facts: JobFacts, timetable: Timetable | None) -> JobFacts:
    """Return the facts with the first due time that has no run.

    The job's row is written a little later than its claims, or never by a scheduler that is frozen.
    """
    claimed_until = facts.claimed_until
    if facts.next_due_at is None or claimed_until is None or facts.next_due_at > claimed_until:
        return facts
    due = None if timetable is None else timetable.next_after(claimed_until)
    fire = None if timetable is None or due is None else timetable.fire_time(due)
    return msgspec.structs.replace(facts, next_due_at=due, next_fire_at=fire)


def _newest_success(runs: Sequence[SeenRun]) -> SeenRun | None:
    over = [run for run in runs if run.state is RunState.SUCCEEDED and run.finished_at is not None]
    return max(over, key=lambda run: run.finished_at or run.claimed_at, default=None)


def _changes_by_time(standing: RuleStanding, rule: AlertRule) -> list[datetime]:
    """Return when what is told of a standing may change though the level stays."""
    look_ats = []
    if standing.is_flapping:
        look_ats.append(standing.since + STEADY)
    if standing.is_notified and standing.notified_at is not None and rule.remind_s is not None:
        remind_at = standing.notified_at + timedelta(seconds=rule.remind_s)
        # it is over where nothing is known of the job: nobody is reminded then
        look_ats += [remind_at] if remind_at > standing.looked_at else []
    return look_ats
