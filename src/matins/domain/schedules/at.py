"""Schedules of kind `at`: due at one instant or at a list of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import ClassVar, Final

import msgspec

from matins.domain.schedules.report import ProblemReport
from matins.domain.schedules.rules import Rule
from matins.domain.schedules.schedule import Times
from matins.domain.time.instants import parse_instant
from matins.domain.time.zones import Zone

INSTANTS_MAX: Final = 1_000


class InstantsRule:
    """Due at listed instants, each once."""

    __slots__ = ("_instants",)

    def __init__(self, instants: Sequence[int]) -> None:
        self._instants = sorted(set(instants))

    def next_after(self, instant: int) -> int | None:
        """Return the first due time strictly after an instant."""
        index = bisect_right(self._instants, instant)
        return self._instants[index] if index < len(self._instants) else None

    def previous_before(self, instant: int) -> int | None:
        """Return the last due time strictly before an instant."""
        index = bisect_left(self._instants, instant)
        return self._instants[index - 1] if index else None


class At(msgspec.Struct, frozen=True, eq=False):
    """Instants, as written and in seconds from 1970 UTC; those without an offset are in a zone."""

    ENDS: ClassVar[bool] = True

    texts: tuple[str, ...]
    instants: tuple[int, ...]
    zone: Zone

    @classmethod
    def parse(cls, times: Times, zone: Zone, report: ProblemReport) -> At:
        """Parse what can be; the rest is reported."""
        if isinstance(times.at, str):
            read = [report.attempt("at", parse_instant, times.at, zone)]
        else:
            texts = times.instants
            if not 0 < len(texts) <= INSTANTS_MAX:
                report.add("at", f"the list has {len(texts)} instants; write 1 to {INSTANTS_MAX}")
            read = [
                report.attempt(f"at[{index}]", parse_instant, text, zone)
                for index, text in enumerate(texts[:INSTANTS_MAX])
            ]
        instants = tuple(instant for instant in read if instant is not None)
        return cls(tuple(times.instants), instants, zone)

    def rule(self, seed: str, anchor: int) -> Rule:
        """Return the due times, which are the same for every job."""
        del seed, anchor
        return InstantsRule(self.instants)
