"""The shops of the company: many small jobs, which keep the pages' charts moving."""

from __future__ import annotations

from typing import Final

from matins.domain.jobs.spec import JobFile, JobSpec
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.schedules.schedule import Schedule

PROGRAM: Final = "tills"
_CITIES = ("berlin", "hamburg", "leipzig", "london", "lyon", "milan", "porto", "poznan", "turku")
_WHEN = ("H/2 * * * *", "H/3 * * * *", "*/5 * * * *")


def shops(count: int) -> JobFile:
    """Return a job for each of so many shops, which fetches what its tills have sold."""
    return JobFile([_shop(number) for number in range(count)], "stores")


def _shop(number: int) -> JobSpec:
    city = _CITIES[number % len(_CITIES)]
    name = f"{city}-{1 + number // len(_CITIES):02}"
    return JobSpec(
        name=f"{PROGRAM}-{name}",
        schedule=Schedule(cron=_WHEN[number % len(_WHEN)]),
        target=Target(command=CommandTarget(argv=[PROGRAM, "--shop", name])),
        labels={"tier": "bronze", "city": city},
    )
