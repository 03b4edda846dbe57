"""The kinds of due times that stand alone or in a union, by the fields that they are written in.

To add one: a class with `parse`, `rule` and `ENDS` in a module of its own, its field in `Times`,
and its line here. The type checker then names each place in `insight` that has to know it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from matins.domain.schedules.at import At
from matins.domain.schedules.cron.kind import Cron
from matins.domain.schedules.every import Every
from matins.domain.schedules.report import ProblemReport
from matins.domain.schedules.rrule.kind import RRule
from matins.domain.schedules.schedule import Schedule, Times
from matins.domain.time.instants import parse_instant
from matins.domain.time.zones import Zone

Member = Cron | Every | At | RRule

MEMBERS: Final[dict[str, type[Member]]] = {"cron": Cron, "every": Every, "at": At, "rrule": RRule}


def parse_member(times: Times, zone: Zone, report: ProblemReport) -> Member | None:
    """Parse the kind that is given; None if there is none, or if it can't be, which is reported."""
    fields = fields_given(times)
    _check_choice(times, fields, report)
    member: Member | None = None
    for field in fields:
        member = MEMBERS[field].parse(times, zone, report)
    if times.anchor is not None and times.every is None:
        report.attempt("anchor", parse_instant, times.anchor, zone)
    return member


def fields_given(times: Times) -> list[str]:
    """Return the fields in which a kind is written; there should be one."""
    return [field for field in MEMBERS if getattr(times, field) is not None]


def _check_choice(times: Times, kinds: Sequence[str], report: ProblemReport) -> None:
    """Report a problem unless there is exactly one kind, and nothing that goes with another."""
    is_union = isinstance(times, Schedule) and times.any_of is not None
    is_one = len(kinds) + is_union == 1
    if is_one and times.anchor is None and times.dst is None:
        return
    where = "cron" if "cron" in kinds else "every"
    if not is_one:
        fields = [*MEMBERS, "any_of"] if isinstance(times, Schedule) else [*MEMBERS]
        choice = f"{', '.join(fields[:-1])} and {fields[-1]}"
        report.add(where, f"a schedule takes exactly one of {choice}")
    elif times.anchor is not None and "every" not in kinds:
        report.add(where, "the schedule has an anchor, which goes with every only; leave it out")
    elif times.dst is not None and "cron" not in kinds:
        report.add(where, "the schedule has dst, which goes with cron only; leave it out")
