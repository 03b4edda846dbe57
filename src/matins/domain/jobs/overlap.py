"""Overlap: what becomes of a due time while a run of the same job is unfinished."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

import msgspec

from matins.domain.values.errors import Problem

DEPTH_MAX: Final = 100
"""The most runs of one job that may wait for the one before."""

OverlapPolicy = Literal["skip", "allow", "queue", "replace"]


class Overlap(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """`skip`: the new run is skipped. `allow`: it runs beside the other. `queue`: it waits, at most
    `depth` of them. `replace`: the other is cancelled, and the new one runs when that has ended.
    """

    EXAMPLE: ClassVar[str] = "{policy: queue, depth: 3}"

    policy: OverlapPolicy = "skip"
    depth: int | None = None

    @property
    def places(self) -> int:
        """How many runs may wait for the one before."""
        return 1 if self.depth is None else self.depth

    def problems(self) -> list[Problem]:
        """Return what is wrong with it; `where` is relative to the policy."""
        if self.depth is None:
            return []
        if self.policy != "queue":
            return [Problem("depth", f"goes with policy queue only, not with {self.policy}")]
        if not 1 <= self.depth <= DEPTH_MAX:
            return [Problem("depth", f"must be from 1 to {DEPTH_MAX}")]
        return []


WrittenOverlap = OverlapPolicy | Overlap
"""As owners write it: the policy alone, or with its depth."""


def overlap_of(written: WrittenOverlap) -> Overlap:
    """Return the policy, however it was written."""
    return written if isinstance(written, Overlap) else Overlap(written)
