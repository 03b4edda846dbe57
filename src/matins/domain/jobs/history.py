"""What distinguishes one revision of a job from the one before it, in a few words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.schedules.schedule import Override

_STATES: Final = {
    (JobState.ACTIVE, JobState.PAUSED): "paused",
    (JobState.PAUSED, JobState.ACTIVE): "resumed",
    (JobState.QUARANTINED, JobState.ACTIVE): "resumed",
}


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
        changes += [
            field
            for field in newer.spec.__struct_fields__
            if getattr(older.spec, field) != getattr(newer.spec, field)
        ]
    if list(older.overrides) != list(newer.overrides):
        changes.append("overrides")
    if list(older.calendars) != list(newer.calendars) and "schedule" not in changes:
        changes.append("calendars")
    return changes
