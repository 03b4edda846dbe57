"""Limits as owners write them: so many runs at once, so many starts in a time."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final, NamedTuple

import msgspec

from matins.domain.values.errors import InvalidInputError, Problem, ScheduleError
from matins.domain.values.names import name_problems

LIMIT_MAX: Final = 1_000_000
"""The highest limit of runs at once, and of starts in a time."""

_RATE: Final = re.compile(r"(\d{1,7})/([smhd])", re.ASCII)
_PERIODS: Final = {
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
}


class Rate(NamedTuple):
    """A rate of starts: so many in a period."""

    starts: int
    period: timedelta

    @property
    def spacing(self) -> timedelta:
        """How long after a start the next one is due."""
        return self.period / self.starts

    @property
    def tolerance(self) -> timedelta:
        """How late a start may be without delaying the next one."""
        return min(timedelta(seconds=1), self.period / 10)

    def __str__(self) -> str:
        """Return the rate as owners write it."""
        [letter] = [letter for letter, period in _PERIODS.items() if period == self.period]
        return f"{self.starts}/{letter}"


def parse_rate(text: str) -> Rate:
    """Read a rate such as `100/m`. Raises ScheduleError."""
    match = _RATE.fullmatch(text)
    if match is None or not 0 < int(match[1]) <= LIMIT_MAX:
        raise ScheduleError(
            f"{text[:40]!r} is not a rate; write 5/s, 100/m, 20/h or 1/d,"
            f" with a count from 1 to {LIMIT_MAX}"
        )
    return Rate(int(match[1]), _PERIODS[match[2]])


class Concurrency(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A key that a job shares with others of its team, and the limits for all their runs.

    A limit that the team sets for the key counts instead of the jobs' own.
    """

    key: str
    limit: int | None = None
    rate: str | None = None

    def problems(self) -> list[Problem]:
        """Return all that is wrong with it."""
        problems = name_problems("key", self.key) + limit_problems("limit", self.limit)
        return problems + rate_problems("rate", self.rate)


class Limit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a team sets for a concurrency key: it holds for all its jobs that name the key."""

    key: str
    limit: int | None = None
    rate: str | None = None

    def problems(self) -> list[Problem]:
        """Return all that is wrong with it."""
        problems = name_problems("key", self.key) + limit_problems("limit", self.limit)
        problems += rate_problems("rate", self.rate)
        if self.limit is None and self.rate is None:
            problems.append(Problem("limit", "is missing; write a limit, a rate, or both"))
        return problems


class Quotas(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The quotas of a team. What is not set is by the operator's default, or without limit."""

    max_jobs: int | None = None
    max_running: int | None = None
    starts_per_minute: int | None = None

    def problems(self) -> list[Problem]:
        """Return all that is wrong with them."""
        problems = _count_problems("max_jobs", self.max_jobs, least=0)
        problems += limit_problems("max_running", self.max_running)
        return problems + _count_problems("starts_per_minute", self.starts_per_minute, least=1)

    @property
    def rate(self) -> str | None:
        """The rate of starts, as it is written."""
        return None if self.starts_per_minute is None else f"{self.starts_per_minute}/m"


class JobQuota(NamedTuple):
    """How many jobs a team may have, and has."""

    max_jobs: int
    jobs: int

    def check(self, team: str) -> None:
        """Raise InvalidInputError when there is no room for one job more."""
        if self.jobs >= self.max_jobs:
            message = f"is one too many: the quota max_jobs of team {team} is {self.max_jobs}"
            raise InvalidInputError.at("name", message)


def limit_problems(where: str, limit: int | None) -> list[Problem]:
    """Return what is wrong with a limit of runs at once; one of 0 lets nothing start."""
    return _count_problems(where, limit, least=0)


def rate_problems(where: str, rate: str | None) -> list[Problem]:
    """Return what is wrong with a rate."""
    try:
        if rate is not None:
            parse_rate(rate)
    except ScheduleError as error:
        return [Problem(where, str(error))]
    return []


def _count_problems(where: str, count: int | None, *, least: int) -> list[Problem]:
    if count is None or least <= count <= LIMIT_MAX:
        return []
    return [Problem(where, f"is {count}; it must be from {least} to {LIMIT_MAX}")]
