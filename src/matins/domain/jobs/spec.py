"""What an owner wants to happen. The shape of the file, the API's body and this Struct is one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import ClassVar, Literal
from uuid import UUID

import msgspec

from matins.domain.calendars.calendar import Calendar
from matins.domain.jobs.alerting import AlertRule, rule_problems
from matins.domain.jobs.keeping import Keep
from matins.domain.jobs.limits import Concurrency, limit_problems, rate_problems
from matins.domain.jobs.misfire import Misfire
from matins.domain.jobs.overlap import Overlap, WrittenOverlap, overlap_of
from matins.domain.jobs.retry import RetryPolicy
from matins.domain.jobs.targets import Target
from matins.domain.schedules.schedule import Override, Schedule
from matins.domain.timetables.compiling import job_problems
from matins.domain.values.durations import parse_duration
from matins.domain.values.errors import Problem, ScheduleError, below
from matins.domain.values.names import name_problems
from matins.domain.values.texts import label_problems, length_problems, nul_problems

_TEXT_MAX = 2000
LIST_MAX = 1_000
"""The most jobs that one request may put."""

_CHECKIN_SCHEDULE = (
    "is of no use to a check-in, which Matins does not start; say how often it should succeed, as"
    " in alerts: [{on: did_not_run, within: 26h}]"
)

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

    EXAMPLE: ClassVar[str] = "{name: hello, target: {command: {argv: [echo, hello]}}}"

    name: str
    target: Target
    schedule: Schedule | None = None
    description: str = ""
    labels: dict[str, str] = {}
    pool: str = "default"
    priority: Literal["high", "normal", "low"] = "normal"
    timeout: str = "10m"
    retry: RetryPolicy = RetryPolicy()
    overlap: WrittenOverlap = "skip"
    misfire: Misfire = Misfire()
    max_running: int | None = None
    rate: str | None = None
    concurrency: Concurrency | None = None
    keep: Keep | None = None
    alerts: list[AlertRule] = []

    @property
    def timeout_s(self) -> float:
        """The longest an attempt may take, in seconds."""
        return parse_duration(self.timeout)

    @property
    def retrying(self) -> RetryPolicy:
        """How it is tried again, with what its kind of target decides filled in."""
        return self.retry.for_target(self.target.kind)

    @property
    def is_timed(self) -> bool:
        """Whether its due times lie on a schedule, and do not follow from runs."""
        return self.schedule is not None and self.schedule.after == "due"

    @property
    def upstream(self) -> list[str]:
        """The jobs with whose runs it is due; the first of them leads."""
        chain = None if self.schedule is None else self.schedule.chain
        return [] if chain is None else chain.jobs

    @property
    def overlapping(self) -> Overlap:
        """What becomes of its due times while a run of it is unfinished."""
        return overlap_of(self.overlap)

    def problems(self) -> list[Problem]:
        """Return all that is wrong with the meaning of it; `where` is relative to the job."""
        problems = name_problems("name", self.name) + name_problems("pool", self.pool)
        parts = [("target", self.target.problems())]
        parts.append(("retry", self.retry.problems(self.target.kind)))
        parts.append(("overlap", self.overlapping.problems()))
        parts.append(("misfire", self.misfire.problems()))
        if self.concurrency is not None:
            parts.append(("concurrency", self.concurrency.problems()))
        if self.keep is not None:
            parts.append(("keep", self.keep.problems()))
        if self.schedule is not None:
            parts.append(("schedule", job_problems(self.schedule)))
        for part, inner in parts:
            problems += below(part, inner)
        if self.target.checkin is not None and self.schedule is not None:
            problems.append(Problem("schedule", _CHECKIN_SCHEDULE))
        problems += _timeout_problems(self.timeout)
        problems += limit_problems("max_running", self.max_running)
        problems += rate_problems("rate", self.rate)
        problems += length_problems("description", self.description, _TEXT_MAX)
        problems += rule_problems("alerts", self.alerts) + self._period_problems()
        return problems + label_problems(self.labels) + nul_problems(self)

    def _period_problems(self) -> list[Problem]:
        """Return the rules that need a period where no schedule tells one."""
        message = "is missing; no schedule tells how often the job should succeed"
        return [
            Problem(f"alerts[{index}].within", message)
            for index, rule in enumerate(self.alerts)
            if rule.on == "did_not_run" and not (rule.within or rule.off or self.is_timed)
        ]


class JobFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of one team: jobs, the calendars that they keep to, and what is kept of their runs."""

    EXAMPLE: ClassVar[str] = (
        "{team: me, jobs: [{name: hello, target: {command: {argv: [echo, hello]}}}]}"
    )

    jobs: list[JobSpec]
    team: str = "default"
    calendars: list[Calendar] = []
    keep: Keep | None = None

    def problems(self) -> list[Problem]:
        """Return all that is wrong in the file, with paths such as `jobs[2].schedule.cron`."""
        problems = name_problems("team", self.team)
        problems += _listed_problems("calendars", self.calendars)
        problems += below("keep", self.keep.problems()) if self.keep else []
        problems += _listed_problems("jobs", self.jobs)
        return problems


class JobList(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Jobs of one team that are put by one request."""

    EXAMPLE: ClassVar[str] = "{jobs: [{name: hello, target: {command: {argv: [echo, hello]}}}]}"

    jobs: list[JobSpec]

    def problems(self) -> list[Problem]:
        """Return all that is wrong in the list, with paths such as `jobs[2].schedule.cron`."""
        problems = _listed_problems("jobs", self.jobs)
        if len(self.jobs) > LIST_MAX:
            problems.append(Problem("jobs", f"lists {len(self.jobs)}; at most {LIST_MAX} at once"))
        return problems


class Job(msgspec.Struct, frozen=True, omit_defaults=False):
    """A stored job. `next_due_at` and `next_fire_at` are what will be claimed next, if anything.

    `overdue`: why it has not been claimed, if that was more than a minute ago. `reason`: why it is
    paused, quarantined or deleted. `paused_until`: when it goes on by itself.
    """

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
    overdue: str = ""
    overrides: list[Override] = []
    paused_until: datetime | None = None


def _listed_problems(kind: str, parts: Sequence[JobSpec | Calendar]) -> list[Problem]:
    """Return all that is wrong in a list whose members have names, each of its own."""
    problems = []
    seen: dict[str, int] = {}
    for index, part in enumerate(parts):
        where = f"{kind}[{index}]"
        problems += below(where, part.problems())
        first = seen.setdefault(part.name, index)
        if first != index:
            message = f"{part.name!r} is also the name of {kind}[{first}]"
            problems.append(Problem(f"{where}.name", message))
    return problems


def _timeout_problems(timeout: str) -> list[Problem]:
    try:
        seconds = parse_duration(timeout)
    except ScheduleError as error:
        return [Problem("timeout", str(error))]
    if not 0 < seconds <= 7 * 86400:
        return [Problem("timeout", f"{timeout!r} must be over 0 and at most 7d")]
    return []
