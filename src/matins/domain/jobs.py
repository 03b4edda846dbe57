"""What an owner wants to happen. The shape of the file, the API's body and this Struct is one."""

from __future__ import annotations

import re
from datetime import datetime
from enum import StrEnum
from typing import Literal
from uuid import UUID

import msgspec

from matins.domain.durations import parse_duration
from matins.domain.errors import InvalidInputError, Problem, ScheduleError
from matins.domain.misfire import Misfire
from matins.domain.retry import RetryPolicy
from matins.domain.schedules.compiling import job_problems
from matins.domain.schedules.schedule import Exemption, Schedule
from matins.domain.targets import Target

_NAME = re.compile(r"[a-z0-9]([a-z0-9._-]{0,98}[a-z0-9])?", re.ASCII)
_TEXT_MAX = 2000
_LABELS_MAX = 32
PRIORITIES = {"high": 0, "normal": 1, "low": 2}
"""The priority classes; the smaller number is handed out first."""


class JobState(StrEnum):
    """Whether a job's due times are claimed."""

    ACTIVE = "active"
    PAUSED = "paused"
    QUARANTINED = "quarantined"
    DELETED = "deleted"


class JobSpec(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A job as its owner writes it. Without a schedule it runs only when triggered."""

    name: str
    target: Target
    schedule: Schedule | None = None
    description: str = ""
    labels: dict[str, str] = {}
    pool: str = "default"
    priority: Literal["high", "normal", "low"] = "normal"
    timeout: str = "10m"
    retry: RetryPolicy = RetryPolicy()
    misfire: Misfire = Misfire()

    @property
    def timeout_s(self) -> float:
        """The longest an attempt may take, in seconds."""
        return parse_duration(self.timeout)

    def problems(self) -> list[Problem]:
        """All that is wrong with the meaning of it; `where` is relative to the job."""
        found = _name_problems("name", self.name) + _name_problems("pool", self.pool)
        parts = [("target", self.target.problems()), ("retry", self.retry.problems())]
        parts.append(("misfire", self.misfire.problems()))
        if self.schedule is not None:
            parts.append(("schedule", job_problems(self.schedule)))
        for part, inner in parts:
            found += [Problem(f"{part}.{p.where}".rstrip("."), p.message) for p in inner]
        found += _timeout_problems(self.timeout)
        found += _text_problems(self)
        return found


class JobFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of jobs of one team."""

    jobs: list[JobSpec]
    team: str = "default"

    def problems(self) -> list[Problem]:
        """All that is wrong in the file, with paths such as `jobs[2].schedule.cron`."""
        found = _name_problems("team", self.team)
        seen: dict[str, int] = {}
        for index, job in enumerate(self.jobs):
            found += [Problem(f"jobs[{index}].{p.where}", p.message) for p in job.problems()]
            first = seen.setdefault(job.name, index)
            if first != index:
                found.append(
                    Problem(
                        f"jobs[{index}].name", f"{job.name!r} is also the name of jobs[{first}]"
                    )
                )
        return found


class Job(msgspec.Struct, frozen=True, omit_defaults=False):
    """A stored job. `next_due_at` and `next_fire_at` are what will be claimed next, if anything."""

    id: UUID
    team: str
    revision: int
    state: JobState
    spec: JobSpec
    created_at: datetime
    changed_at: datetime
    next_due_at: datetime | None = None
    next_fire_at: datetime | None = None
    reason: str = ""
    exemptions: list[Exemption] = []


def check(problems: list[Problem]) -> None:
    """Raise InvalidInputError with all the problems, if there are any."""
    if problems:
        raise InvalidInputError(problems)


def check_name(where: str, name: str) -> None:
    """Raise InvalidInputError unless `name` may name a team, a job or a pool."""
    check(_name_problems(where, name))


def _name_problems(where: str, name: str) -> list[Problem]:
    if _NAME.fullmatch(name):
        return []
    rule = "use 1 to 100 of a-z, 0-9, '.', '_' and '-', beginning and ending with a letter or digit"
    return [Problem(where, f"{name[:60]!r} can't be a name; {rule}")]


def _timeout_problems(timeout: str) -> list[Problem]:
    try:
        seconds = parse_duration(timeout)
    except ScheduleError as error:
        return [Problem("timeout", str(error))]
    if not 0 < seconds <= 7 * 86400:
        return [Problem("timeout", f"{timeout!r} must be over 0 and at most 7d")]
    return []


def _text_problems(spec: JobSpec) -> list[Problem]:
    found = []
    if len(spec.description) > _TEXT_MAX:
        found.append(Problem("description", f"is longer than {_TEXT_MAX} characters"))
    if len(spec.labels) > _LABELS_MAX:
        found.append(Problem("labels", f"are more than {_LABELS_MAX}"))
    if "\\u0000" in msgspec.json.encode(spec).decode().replace("\\\\", ""):
        found.append(Problem("", "holds a NUL character; no text of a job may"))
    return found
