"""Reads the schedule cases and judges them: `python -m tests.unit.schedules.cases FILE...`.

A case is an expression, a zone, an instant and what must come of it.
"""

from __future__ import annotations

import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from time import process_time
from typing import Literal

import msgspec
from tests.unit.schedules.properties import Properties, broken_properties

from matins.domain.schedules.parsing import problems
from matins.domain.schedules.schedule import Schedule
from matins.domain.timetables.compiling import compile_schedule
from matins.domain.timetables.timetable import Timetable
from matins.domain.values.errors import ScheduleError

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
        """Return the schedule as an owner would write it."""
        end = self.end.isoformat() if self.end else None
        name, _, rest = self.expr.partition(" ")
        if name.lower() == "@at":
            return Schedule(at=rest, timezone=self.tz, ends_at=end)
        if self.dialect == "interval":
            every = rest if name.lower() == "@every" else self.expr
            anchor = self.anchor.isoformat() if self.anchor else None
            return Schedule(every=every, anchor=anchor, timezone=self.tz, ends_at=end)
        if self.dialect == "rrule":
            return Schedule(rrule=self.expr, timezone=self.tz, ends_at=end)
        return Schedule(cron=self.expr, dialect=self.dialect, timezone=self.tz, ends_at=end)


def read_cases(path: Path = CASES) -> list[Case]:
    """Read all cases of a file."""
    return [read_case(line) for line in lines_of(path)]


def read_case(line: str) -> Case:
    """Read one line. Raises msgspec.MsgspecError for what is no case that can be judged."""
    return msgspec.json.decode(line, type=Case)


def lines_of(path: Path) -> list[str]:
    """Return the lines of a file that are not empty."""
    return [line for line in path.read_text("utf-8").splitlines() if line.strip()]


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


def refused_by_choice(case: Case) -> bool:
    """Return whether a case asks for due times within a second, which Matins refuses on purpose."""
    if case.dialect != "interval" or case.expect == "error":
        return False
    return any("fraction of a second" in problem.message for problem in problems(case.schedule()))


def _answers(timetable: Timetable, case: Case, count: int, *, backwards: bool) -> list[datetime]:
    found: list[datetime] = []
    step = timetable.previous_before if backwards else timetable.next_after
    instant = step(case.start)
    while instant is not None and len(found) < count:
        found.append(instant)
        instant = step(instant)
    return found


def _show(instants: list[datetime]) -> str:
    return "[" + ", ".join(f"{instant:%Y-%m-%dT%H:%M:%SZ}" for instant in instants) + "]"


def main(paths: list[str]) -> int:
    """Judge files of cases, print each mismatch and the counts; give the exit code.

    Budgets of time are judged by the CPU time that this took.
    """
    counts: Counter[str] = Counter()
    for line in (line for path in paths for line in lines_of(Path(path))):
        try:
            case = read_case(line)
        except msgspec.MsgspecError as error:
            counts["wrong"] += 1
            print(f"{line[:80]}: is no case that can be judged: {error}")
            continue
        if refused_by_choice(case):
            counts["refused by choice"] += 1
            print(
                f"{case.id}: {case.expr[:80]!r} is refused by choice: a due time is a whole second"
            )
            continue
        began = process_time()
        wrong = mismatch(case)
        took_ms = (process_time() - began) * 1e3
        if wrong is None and case.max_ms is not None and took_ms > case.max_ms:
            wrong = f"took {took_ms:.0f} ms instead of {case.max_ms:g}"
        counts["wrong" if wrong else "right"] += 1
        if wrong:
            print(f"{case.id}: {case.expr[:80]!r} {case.dialect} {case.tz}: {wrong}")
    print(", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    return int(counts["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or [str(CASES)]))
