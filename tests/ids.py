"""Ids that are the same each time: no test's outcome may hang on one that was drawn.

A random UUID is no run's id: one in ten names a due time after the year 9999, and is refused.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from matins.domain.runs.states import Kind
from matins.domain.values.ids import run_id

_DUE_AT: Final = datetime(2026, 11, 29, 2, tzinfo=UTC)


def numbered(number: int) -> UUID:
    """Return an id of anything but a run: a job, an executor, a holder of leases."""
    return UUID(int=number)


def run_numbered(number: int) -> UUID:
    """Return the id of a run, as Matins makes them.

    Tests share a Valkey, which remembers the runs that some of them end: a run that is to be
    unknown needs a number of its own.
    """
    return run_id(numbered(number), _DUE_AT, Kind.SCHEDULED)
