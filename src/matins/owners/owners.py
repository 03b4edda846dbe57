"""All that owners do, on one set of ports."""

from __future__ import annotations

import asyncio
from random import Random
from typing import NamedTuple

from matins.domain.ports import Hints
from matins.domain.ports.backfills import BackfillChanges
from matins.domain.ports.calendars import CalendarChanges
from matins.domain.ports.dead import LetterChanges, ReplayChanges
from matins.domain.ports.jobs import JobChanges
from matins.domain.ports.limits import LimitChanges
from matins.domain.ports.restores import RestoreChanges
from matins.domain.ports.runs import RunChanges
from matins.domain.ports.windows import WindowChanges
from matins.owners.backfills import Backfills
from matins.owners.calendars import Calendars, InThread
from matins.owners.dead import DeadLetters
from matins.owners.jobs import Jobs
from matins.owners.limits import Limits
from matins.owners.restores import Restores
from matins.owners.runs import Runs
from matins.owners.selected import SelectedJobs
from matins.owners.upkeep import OwnersUpkeep
from matins.owners.windows import Windows


class Owners(NamedTuple):
    """The use cases of owners, and what the upkeep does to jobs as owners would."""

    jobs: Jobs
    selected: SelectedJobs
    calendars: Calendars
    runs: Runs
    windows: Windows
    backfills: Backfills
    dead: DeadLetters
    limits: Limits
    restores: Restores
    upkeep: OwnersUpkeep


def owners_on(  # noqa: PLR0913, PLR0917 # a port for each kind of deed
    jobs: JobChanges,
    calendars: CalendarChanges,
    runs: RunChanges,
    windows: WindowChanges,
    backfills: BackfillChanges,
    letters: LetterChanges,
    replays: ReplayChanges,
    limits: LimitChanges,
    restores: RestoreChanges,
    hints: Hints,
    rng: Random,
    *,
    in_thread: InThread = asyncio.to_thread,
) -> Owners:
    """Return all use cases on these ports. `rng` draws the ids of new jobs and backfills."""
    use_cases, single_runs = Jobs(jobs, hints, rng), Runs(runs, hints)
    return Owners(
        use_cases,
        SelectedJobs(jobs, hints),
        Calendars(calendars, use_cases.sync_calendars, in_thread),
        single_runs,
        Windows(windows, hints),
        Backfills(backfills, single_runs, hints, rng, in_thread),
        DeadLetters(letters, replays, hints, rng),
        Limits(limits, hints),
        Restores(restores, hints),
        OwnersUpkeep(jobs, hints),
    )
