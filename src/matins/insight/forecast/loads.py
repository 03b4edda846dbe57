"""The kinds of load: what the due times of jobs have in common, so that they are laid out once.

Jobs under one load differ by nothing, or by nothing but a phase: where in the load's step a job's
anchor lies, which is in whole seconds from 1970 UTC.
"""

from __future__ import annotations

import msgspec

from matins.domain.schedules.cron.days import Days
from matins.domain.schedules.rules import Rule
from matins.domain.time.civil import FIRST_S, LAST_S
from matins.domain.time.zones import Zone
from matins.domain.timetables.timetable import Timetable
from matins.insight.forecast.dials import Dial


class CronLoad(msgspec.Struct, frozen=True, eq=False):
    """The due times of a cron expression, from `first` to `last`."""

    rule: Rule
    days: Days
    dial: Dial
    zone: Zone
    jitter_s: int = 0
    first: int = FIRST_S
    last: int = LAST_S


class EveryLoad(msgspec.Struct, frozen=True):
    """Due each `step_s`, from `first` to `last`: seconds of real time, or with a zone whole
    calendar days at one wall time.
    """

    step_s: int
    zone: Zone | None = None
    jitter_s: int = 0
    first: int = FIRST_S
    last: int = LAST_S

    def phase(self, anchor: int) -> int:
        """Give the place of an anchor in the step."""
        wall = anchor if self.zone is None else anchor + self.zone.offset_at(anchor)
        return wall % self.step_s


class AtLoad(msgspec.Struct, frozen=True):
    """Due once, at the anchor itself."""

    jitter_s: int = 0

    def phase(self, anchor: int) -> int:
        """Give the anchor."""
        return anchor


class FlatLoad(msgspec.Struct, frozen=True):
    """Due about each `step_s`, nobody knows when: the ends of runs decide."""

    step_s: int
    first: int = FIRST_S
    last: int = LAST_S


class WalkedLoad(msgspec.Struct, frozen=True, eq=False):
    """Due times that are found by walking from one to the next: the most costly kind."""

    timetable: Timetable
    jitter_s: int = 0


SharedLoad = CronLoad | FlatLoad | WalkedLoad
"""All jobs of the load are due at the same times."""

PhasedLoad = EveryLoad | AtLoad
"""The phase of each job counts."""

Load = SharedLoad | PhasedLoad
