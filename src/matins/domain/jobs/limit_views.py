"""What the API answers about limits and quotas."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from matins.domain.jobs.limits import Limit, Quotas


class LimitRecord(msgspec.Struct, frozen=True):
    """A gate of a team, with what is taken of it: a concurrency key, or the limits of a job.

    `limit` is of runs at once, `rate` of starts; None: none. They are `set` by the team, or are the
    lowest that its jobs say. `used` permits are taken, and `waiting` runs stand in its line.
    """

    kind: Literal["key", "job"]
    name: str
    limit: int | None
    rate: str | None
    set: bool
    used: int
    waiting: int
    next_start_at: datetime | None = None


class LimitChanged(msgspec.Struct, frozen=True):
    """What a request did to the limits that a team sets for a concurrency key."""

    limit: Limit
    change: Literal["created", "changed", "unchanged", "deleted"]


class Quota(msgspec.Struct, frozen=True):
    """A quota and what is used of it. None: no limit, or not measured without one."""

    limit: int | None
    used: int | None
    is_default: bool


class QuotasRecord(msgspec.Struct, frozen=True):
    """The quotas of a team beside their use, and how many runs wait for them."""

    team: str
    max_jobs: Quota
    max_running: Quota
    starts_per_minute: Quota
    waiting: int


class QuotasChanged(msgspec.Struct, frozen=True):
    """What a request did to the quotas of a team."""

    quotas: Quotas
    change: Literal["changed", "unchanged"]
