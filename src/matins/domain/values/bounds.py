"""Instants as owners may write them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from matins.domain.values.errors import Problem

FIRST_DUE: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""No due time lies before it: a run's id could not name it."""


def instant_problems(where: str, instant: datetime) -> list[Problem]:
    """Return its problems: it needs an offset from UTC, and a year from 1 to 9999 in UTC."""
    if instant.tzinfo is None:
        return [Problem(where, "has no offset from UTC; write 2026-12-01T00:00:00Z")]
    try:
        instant.astimezone(UTC)
    except OverflowError:
        return [Problem(where, "lies outside of the years 1 to 9999, in UTC")]
    return []
