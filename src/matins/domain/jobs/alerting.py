"""Alert rules as owners write them: when a job is bad, and who is told."""

from __future__ import annotations

import re
from typing import ClassVar, Final, Literal

import msgspec

from matins.domain.values.durations import parse_duration
from matins.domain.values.errors import Problem, ScheduleError, below
from matins.domain.values.names import name_problems
from matins.domain.values.texts import label_problems

On = Literal[
    "dead",
    "failed",
    "late",
    "missed",
    "did_not_run",
    "too_slow",
    "too_fast",
    "quarantined",
    "recovered",
]
"""What a rule is about. `recovered` says who is told that a job is well again."""

LAST_MAX: Final = 100
"""The most runs that a rule looks back on."""

RULES_MAX: Final = 20

_TAKES: Final[dict[str, tuple[str, ...]]] = {
    "failed": ("times", "of"),
    "late": ("after",),
    "did_not_run": ("within",),
    "too_slow": ("over",),
    "too_fast": ("under",),
}
_NEEDS: Final = {"failed": "times", "late": "after", "too_slow": "over", "too_fast": "under"}
_DURATIONS: Final = ("after", "within", "remind")
_SHORTEST_S: Final = 1.0
_P95: Final = re.compile(r"(\d{1,3}(?:\.\d{1,3})?)?p95", re.ASCII)


class AlertRule(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """When a job is bad, which channels are told (all of its team, if none is named), and how often
    they are reminded.

    `off`: nobody is told of it.
    """

    EXAMPLE: ClassVar[str] = "{on: dead, to: [oncall]}"

    on: On
    to: list[str] = []
    times: int | None = None
    of: int | None = None
    after: str | None = None
    within: str | None = None
    over: str | None = None
    under: str | None = None
    remind: str | None = None
    off: bool = False

    @property
    def key(self) -> str:
        """Its name among the rules of a job, as people read it."""
        values = [getattr(self, field) for field in _TAKES.get(self.on, ())]
        numbers = " of ".join(str(value) for value in values if value is not None)
        return f"{self.on} {numbers}".rstrip()

    @property
    def remind_s(self) -> float | None:
        """After how many seconds its channels are told again."""
        return None if self.remind is None else parse_duration(self.remind)

    def problems(self) -> list[Problem]:
        """Return all that is wrong with it."""
        problems: list[Problem] = []
        for field in ("times", "of", "after", "within", "over", "under"):
            if getattr(self, field) is not None and field not in _TAKES.get(self.on, ()):
                owner = next(on for on, fields in _TAKES.items() if field in fields)
                problems.append(Problem(field, f"belongs to {owner}, and not to {self.on}"))
        needed = _NEEDS.get(self.on)
        if needed is not None and getattr(self, needed) is None and not self.off:
            problems.append(Problem(needed, f"is missing; {self.on} needs it"))
        for field in _DURATIONS:
            problems += _length_problems(field, getattr(self, field))
        for field in ("over", "under"):
            problems += _bound_problems(field, getattr(self, field))
        for index, name in enumerate(self.to):
            problems += name_problems(f"to[{index}]", name)
        return problems + self._count_problems()

    def _count_problems(self) -> list[Problem]:
        most = LAST_MAX if self.of is None else min(self.of, LAST_MAX)
        if self.of is not None and not 1 <= self.of <= LAST_MAX:
            return [Problem("of", f"must be from 1 to {LAST_MAX}")]
        if self.times is not None and not 1 <= self.times <= most:
            return [Problem("times", f"must be from 1 to {most}")]
        return []


class Bound(msgspec.Struct, frozen=True):
    """A bound of how long a run takes: in seconds, or as a multiple of the job's own p95."""

    seconds: float | None = None
    p95: float | None = None


def parse_bound(text: str) -> Bound:
    """Read `30m`, `p95` or `2p95`. Raises ScheduleError."""
    match = _P95.fullmatch(text)
    if match is not None:
        return Bound(p95=float(match[1] or 1))
    return Bound(seconds=parse_duration(text))


class AlertRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rules for all jobs of a team, or for those that have all of these labels."""

    EXAMPLE: ClassVar[str] = "{name: gold, labels: {tier: gold}, rules: [{on: late, after: 10m}]}"

    name: str
    rules: list[AlertRule]
    labels: dict[str, str] = {}

    def problems(self) -> list[Problem]:
        """Return all that is wrong with them."""
        problems = name_problems("name", self.name) + label_problems(self.labels)
        return problems + rule_problems("rules", self.rules)


def rule_problems(where: str, rules: list[AlertRule]) -> list[Problem]:
    """Return all that is wrong in a list of rules."""
    problems = []
    if len(rules) > RULES_MAX:
        problems.append(Problem(where, f"lists {len(rules)}; at most {RULES_MAX}"))
    seen: dict[str, int] = {}
    for index, rule in enumerate(rules):
        place = f"{where}[{index}]"
        faults = rule.problems()
        problems += below(place, faults)
        first = seen.setdefault(rule.key, index)
        if not faults and first != index:
            problems.append(Problem(place, f"says the same as {where}[{first}]: {rule.key}"))
    return problems


def _length_problems(where: str, text: str | None) -> list[Problem]:
    try:
        if text is not None and parse_duration(text) < _SHORTEST_S:
            return [Problem(where, f"{text!r} must be at least 1s")]
    except ScheduleError as error:
        return [Problem(where, str(error))]
    return []


def _bound_problems(where: str, text: str | None) -> list[Problem]:
    try:
        bound = Bound(seconds=1.0) if text is None else parse_bound(text)
    except ScheduleError as error:
        return [Problem(where, f"{error}; or as p95 or 2p95, by how long the job takes itself")]
    if not (bound.seconds or bound.p95):
        return [Problem(where, "must be over zero")]
    return []
