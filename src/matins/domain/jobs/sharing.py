"""How a team shares the pools with others."""

from __future__ import annotations

from datetime import datetime

import msgspec

from matins.domain.values.errors import Problem

WEIGHT_MAX = 1000


class TeamShare(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Beside teams of weight 1 a team of weight 3 has three starts to their one."""

    weight: int = 1

    def problems(self) -> list[Problem]:
        """Return what is wrong with it; `where` is relative to it."""
        if 1 <= self.weight <= WEIGHT_MAX:
            return []
        return [Problem("weight", f"is {self.weight}; it must be from 1 to {WEIGHT_MAX}")]


class TeamRecord(msgspec.Struct, frozen=True):
    """A team, and the weight by which its runs share the pools with others'."""

    name: str
    weight: int
    created_at: datetime
