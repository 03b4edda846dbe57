"""What distinguishes one revision of a job from the one before it, in a few words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.jobs.targets import Target
from matins.domain.schedules.schedule import Override

_STATES: Final = {
    (JobState.ACTIVE, JobState.PAUSED): "paused",
    (JobState.PAUSED, JobState.ACTIVE): "resumed",
    (JobState.QUARANTINED, JobState.ACTIVE): "resumed",
}

_NAMED: Final = {"env": "env", "headers": "header"}
"""Parts of a target whose entries are told one by one."""


class Snapshot(NamedTuple):
    """What a job is by a revision; `spec` is None where it can't be read.

    `calendars` are the versions that it keeps to.
    """

    state: JobState
    spec: JobSpec | None
    overrides: Sequence[Override]
    calendars: Sequence[int]


def changes_between(older: Snapshot, newer: Snapshot) -> list[str]:
    """Return what has changed: the state, or fields of the job by name.

    Where nothing of these has, other zone data or another pause was written.
    """
    changes = []
    if older.state is not newer.state:
        changes.append(_STATES.get((older.state, newer.state), newer.state.value))
    if older.spec is not None and newer.spec is not None:
        for field in newer.spec.__struct_fields__:
            if getattr(older.spec, field) != getattr(newer.spec, field):
                changes += (
                    _target_changes(older.spec.target, newer.spec.target)
                    if field == "target"
                    else [field]
                )
    if list(older.overrides) != list(newer.overrides):
        changes.append("overrides")
    if list(older.calendars) != list(newer.calendars) and "schedule" not in changes:
        changes.append("calendars")
    return changes


def _target_changes(older: Target, newer: Target) -> list[str]:
    """Return which parts of a target differ, by their names alone: values may be secrets."""
    if older.kind is None or older.kind != newer.kind:
        return ["target"]
    before, after = older.given()[older.kind], newer.given()[older.kind]
    changes = []
    for part in after.__struct_fields__:
        was, now = getattr(before, part), getattr(after, part)
        if part in _NAMED and isinstance(was, dict) and isinstance(now, dict):
            names = sorted(name for name in was | now if was.get(name) != now.get(name))
            changes += [f"{_NAMED[part]}.{name}" for name in names]
        elif was != now:
            changes.append("command" if part == "argv" else part)
    return changes
