"""Reads the schedule cases and judges them: `python -m tests.unit.schedules.cases FILE...`.

A case is an expression, a zone, an instant and what must come of it.
"""

from __future__ import annotations

import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec
from tests.unit.schedules.properties import Properties, broken_properties

from matins.domain.errors import ScheduleError
from matins.domain.schedules.compiling import compile_schedule
from matins.domain.schedules.schedule import Schedule
from matins.domain.schedules.timetable import Timetable

CASES = Path(__file__).with_name("cron_cases.jsonl")
_ANCHOR = datetime(2024, 1, 1, tzinfo=UTC)


class Expected(msgspec.Struct):
    """What a property case states instead of instants."""

    props: Properties


class Case(msgspec.Struct):
    """One line of the file; its fields are those of the file's own description."""

    id: str
    kind: Literal["next", "prev", "invalid", "perf", "rrule", "interval"]
    expr: str
    dialect: Literal["unix", "quartz", "jenkins", "rrule", "interval"]
    why: str
    expect: list[datetime] | Literal["error"] | Expected
    tz: str = "UTC"
    start: datetime = msgspec.field(default=_ANCHOR, name="from")
    anchor: datetime | None = None
    end: datetime | None = None
    direction: Literal["next", "prev"] = "next"
    may_reject: bool = False
    n: int = 5
    max_ms: float | None = None

    def schedule(self) -> Schedule:
        """Give the schedule as an owner would write it."""
        name, _, rest = self.expr.partition(" ")
        if name in {"@at", "@AT"}:
            return Schedule(at=rest, timezone=self.tz)
        if self.dialect == "interval":
            every = rest if name == "@every" else self.expr
            anchor = self.anchor.isoformat() if self.anchor else None
            return Schedule(every=every, anchor=anchor, timezone=self.tz)
        if self.dialect == "rrule":
            return Schedule(rrule=self.expr, timezone=self.tz)
        return Schedule(cron=self.expr, dialect=self.dialect, timezone=self.tz)


def read_cases(path: Path = CASES) -> list[Case]:
    """Read all cases of a file."""
    return msgspec.json.Decoder(Case).decode_lines(path.read_bytes())


def mismatch(case: Case) -> str | None:
    """Judge one case; None when the answer is right."""
    if isinstance(case.expect, Expected):
        return broken_properties(case.expect.props, case.schedule(), case.start)
    try:
        timetable = compile_schedule(case.schedule(), seed="job", anchor=_ANCHOR)
    except ScheduleError as error:
        refused_rightly = case.expect == "error" or case.may_reject
        return None if refused_rightly else f"refused: {error}"
    if case.expect == "error":
        return "accepted, and must be refused"
    backwards = case.kind == "prev" or case.direction == "prev"
    wanted = [instant.astimezone(UTC) for instant in case.expect]
    found = _answers(timetable, case, len(wanted) or 1, backwards=backwards)
    return None if found == wanted else f"{_show(found)} instead of {_show(wanted)}"


def _answers(timetable: Timetable, case: Case, count: int, *, backwards: bool) -> list[datetime]:
    found: list[datetime] = []
    step = timetable.previous_before if backwards else timetable.next_after
    instant = step(case.start)
    while instant is not None and len(found) < count and not (case.end and instant > case.end):
        found.append(instant)
        instant = step(instant)
    return found


def _show(instants: list[datetime]) -> str:
    return "[" + ", ".join(f"{instant:%Y-%m-%dT%H:%M:%SZ}" for instant in instants) + "]"


def main(paths: list[str]) -> int:
    """Judge files of cases, print each mismatch and the counts; give the exit code."""
    counts: Counter[str] = Counter()
    for case in (case for path in paths for case in read_cases(Path(path))):
        wrong = mismatch(case)
        counts["wrong" if wrong else "right"] += 1
        if wrong:
            print(f"{case.id}: {case.expr[:80]!r} {case.dialect} {case.tz}: {wrong}")
    print(", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    return int(counts["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or [str(CASES)]))
