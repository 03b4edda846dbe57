"""Which rules a job has: its own, those of its team for its labels, and what holds unasked."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from matins.domain.jobs.alerting import AlertRule, AlertRules, On
from matins.domain.jobs.spec import JobSpec
from matins.domain.timetables.timetable import Timetable

DEFAULTS: Final[tuple[On, ...]] = ("dead", "quarantined", "did_not_run", "recovered")
"""What the owner of a job is told of without asking, once the team has a channel."""

_SKIPPED_MOST: Final = 400
"""So many due times that do not run are passed over in search of those that do."""

_LEAST: Final = timedelta(minutes=1)


def rules_of(spec: JobSpec, of_team: Iterable[AlertRules]) -> dict[str, AlertRule]:
    """Return the rules of a job by their keys; `recovered` says who is told that it is well.

    What a job says of a kind of rule counts instead of what its team says of that, which counts
    instead of the default.
    """
    rules: dict[On, list[AlertRule]] = {on: [AlertRule(on)] for on in DEFAULTS}
    if not spec.is_timed:
        del rules["did_not_run"]
    meant = [group for group in of_team if group.labels.items() <= spec.labels.items()]
    # the widest first, so that what names more labels has the last word
    for group in sorted(meant, key=lambda group: (len(group.labels), group.name)):
        rules |= _by_kind(group.rules)
    rules |= _by_kind(spec.alerts)
    return {rule.key: rule for kind in rules.values() for rule in kind if not rule.off}


def expected_by(timetable: Timetable, base: datetime, took_s: float) -> datetime | None:
    """Return by when a job that succeeded at `base` should have done so again: twice the period
    of its schedule later, and as long as it takes. None: it is not due so often any more.
    """
    at: datetime | None = base
    for _ in range(2):
        at = _next_run(timetable, at) if at is not None else None
    return None if at is None else max(at, base + _LEAST) + timedelta(seconds=took_s)


def _next_run(timetable: Timetable, after: datetime) -> datetime | None:
    due = timetable.next_after(after)
    for _ in range(_SKIPPED_MOST):
        if due is None or not timetable.skip_reason(int(due.timestamp())):
            return due
        due = timetable.next_after(due)
    return None


def _by_kind(rules: Iterable[AlertRule]) -> dict[On, list[AlertRule]]:
    kinds: dict[On, list[AlertRule]] = {}
    for rule in rules:
        kinds.setdefault(rule.on, []).append(rule)
    return kinds
