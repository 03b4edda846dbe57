"""The oldest snapshot of a database: until it ends, no older version of any row can go."""

from __future__ import annotations

from datetime import datetime

import msgspec


class OldestSnapshot(msgspec.Struct, frozen=True):
    """Who holds it. `since` is None where that isn't told."""

    holder: str
    xmin: str
    since: datetime | None
    now: datetime
    """When it was looked at."""
