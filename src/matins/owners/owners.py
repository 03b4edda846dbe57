"""All that owners do, on one set of ports."""

from __future__ import annotations

import asyncio
from random import Random
from typing import NamedTuple

from matins.domain.ports import Hints
from matins.domain.ports.calendars import CalendarChanges
from matins.domain.ports.jobs import JobChanges
from matins.domain.ports.runs import RunChanges
from matins.domain.ports.windows import WindowChanges
from matins.owners.calendars import Calendars, InThread
from matins.owners.jobs import Jobs
from matins.owners.runs import Runs
from matins.owners.upkeep import OwnersUpkeep
from matins.owners.windows import Windows


class Owners(NamedTuple):
    """The use cases of owners, and what the upkeep does to jobs as owners would."""

    jobs: Jobs
    calendars: Calendars
    runs: Runs
    windows: Windows
    upkeep: OwnersUpkeep


def owners_on(
    jobs: JobChanges,
    calendars: CalendarChanges,
    runs: RunChanges,
    windows: WindowChanges,
    hints: Hints,
    rng: Random,
    *,
    in_thread: InThread = asyncio.to_thread,
) -> Owners:
    """Return all use cases on these ports. `rng` draws the ids of new jobs."""
    use_cases = Jobs(jobs, hints, rng)
    return Owners(
        use_cases,
        Calendars(calendars, use_cases.sync_calendars, in_thread),
        Runs(runs, hints),
        Windows(windows, hints),
        OwnersUpkeep(jobs, hints),
    )
