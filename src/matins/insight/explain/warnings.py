"""What an owner should know before trusting a schedule, as sentences, most important first."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final, assert_never

import msgspec
from msgspec.structs import replace

from matins.domain.schedules.at import At
from matins.domain.schedules.cron.kind import Cron
from matins.domain.schedules.every import Every
from matins.domain.schedules.members import Member
from matins.domain.schedules.parsed import ParsedSchedule
from matins.domain.schedules.parsing import parse_schedule
from matins.domain.schedules.rrule.kind import RRule
from matins.domain.schedules.schedule import Schedule
from matins.domain.time.civil import DAY_S
from matins.domain.time.instants import epoch_s, instant_of
from matins.domain.time.zones import find_zone
from matins.domain.timetables.timetable import Timetable
from matins.domain.values.durations import format_duration
from matins.insight.explain.clock_warnings import ClockWarning, clock_warnings, next_skipped
from matins.insight.explain.cron_meaning import read_meaning
from matins.insight.explain.english import (
    clock,
    counted,
    date_of,
    each,
    length,
    listed,
    wall_at,
)
from matins.insight.explain.pitfalls import cron_pitfalls, rrule_pitfalls
from matins.insight.explain.rrule_words import rule_zone

WARNINGS_MAX: Final = 10
"""The most warnings about one schedule."""

_LOOKED_AT: Final = 32
_DENSE: Final = timedelta(seconds=10)
_LONG_CLOSED: Final = timedelta(days=14)
_LATE: Final = timedelta(days=366)


class _View(msgspec.Struct, frozen=True):
    """A schedule, what it was compiled to and with, and the instant from which it is seen."""

    schedule: Schedule
    timetable: Timetable
    after: datetime
    seed: str
    anchor: datetime

    def coming(self, count: int) -> Iterator[datetime]:
        """Return the next due times, those of the next year or so."""
        due = self.timetable.next_after(self.after)
        for _ in range(count):
            if due is None or due - self.after > _LATE:
                return
            yield due
            due = self.timetable.next_after(due)

    @property
    def parsed(self) -> ParsedSchedule:
        """What the schedule means."""
        return parse_schedule(self.schedule)

    @property
    def start(self) -> int:
        """The instant from which `every` and `rrule` count if they name none themselves."""
        return self.parsed.start(epoch_s(self.anchor))

    def date(self, due: datetime) -> str:
        """Return the date of an instant in the schedule's zone."""
        return date_of(wall_at(epoch_s(due), self.parsed.zone))


def warnings(
    schedule: Schedule,
    timetable: Timetable,
    after: datetime,
    *,
    seed: str,
    anchor: datetime,
    days: int = 400,
) -> list[str]:
    """Return the warnings about a schedule that was compiled to a timetable, as seen from `after`.

    Clock changes are looked for in so many `days`. `seed` is the job's id (empty: none yet),
    `anchor` the job's creation.
    """
    view = _View(schedule, timetable, after, seed, anchor)
    moved, unmoved = _clock_changes(view, days)
    sentences = [
        *_not_due(view),
        *_chained(view),
        *_unknown(view),
        *_meant(view),
        *moved,
        *_all_skipped(view),
        *_jitter(view),
        *_dense(view),
        *unmoved,
    ]
    return list(dict.fromkeys(sentences))[:WARNINGS_MAX]


def _not_due(view: _View) -> Iterator[str]:
    """Warn if it is never due again, or not for long."""
    if view.schedule.after != "due":
        return
    due = view.timetable.next_after(view.after)
    if due is None:
        yield f"never due again: {_why_over(view)}"
    elif due - view.after > _LATE:
        yield f"not due before {view.date(due)}, in {counted((due - view.after).days, 'day')}"


def _chained(view: _View) -> Iterator[str]:
    """Say what a chain does with what its leader's schedule alone does not tell."""
    chain = view.schedule.chain
    if chain is None or len(chain.jobs) == 1:
        return
    leader, *others = chain.jobs
    if chain.join == "due_time":
        yield (
            f"due whenever {leader} is: where {listed(others, 'or')} is not due at the same time,"
            " that counts as skipped; write join: latest for other schedules"
        )


def _why_over(view: _View) -> str:
    parsed = view.parsed
    if parsed.ends is not None and parsed.ends <= epoch_s(view.after):
        return "ends_at has passed"
    if parsed.max_runs is not None:
        limits = "max_runs" if parsed.ends is None else "max_runs or ends_at"
        return f"nothing more is due within {limits}"
    if parsed.ends is not None:
        return "ends_at lies before the next due time"
    if skipped := [wall for member in parsed.members if (wall := _next_skipped(view, member))]:
        when = f"{clock(min(skipped) % DAY_S)} on {date_of(instant_of(min(skipped)))}"
        return f"clocks skip each time that it names, such as {when}; choose another time of day"
    return "all its due times have passed"


def _next_skipped(view: _View, member: Member) -> int | None:
    zone = find_zone(_zone_of(member))
    return next_skipped(member, zone, epoch_s(view.after), seed=view.seed, anchor=view.start)


def _unknown(view: _View) -> Iterator[str]:
    crons = [member for member in view.parsed.members if isinstance(member, Cron)]
    if not view.seed and any(cron.is_hashed for cron in crons):
        yield "H chooses from the job's id, which is not known yet: the job's own times will differ"


def _meant(view: _View) -> Iterator[str]:
    """Warn where an expression or rule means other than it seems to."""
    today = epoch_s(view.after) // DAY_S
    for member in view.parsed.members:
        match member:
            case Cron(expression, dialect):
                yield from cron_pitfalls(read_meaning(expression, dialect, view.seed), today)
            case RRule(text, zone):
                yield from rrule_pitfalls(text, zone.name, view.start)
            case Every() | At():
                pass  # they mean what they say
            case _:
                assert_never(member)


def _clock_changes(view: _View, days: int) -> tuple[list[str], list[str]]:
    """Warn of what clock changes do: to fixed times first, then to what follows real time."""
    span = epoch_s(view.after), epoch_s(view.after) + days * DAY_S
    members, start = view.parsed.members, view.start
    zones = [_zone_of(member) for member in members]
    by_wall: list[tuple[int, ClockWarning]] = []
    for member, name in zip(members, zones, strict=True):
        of_kind = clock_warnings(
            member, find_zone(name), view.timetable, span, seed=view.seed, anchor=start
        )
        where = name if len(set(zones)) > 1 else ""
        by_wall += [(wall, replace(warning, zone=where)) for wall, warning in of_kind]
    dates: dict[ClockWarning, dict[str, None]] = {}
    for wall, warning in sorted(by_wall, key=lambda pair: pair[0]):
        dates.setdefault(warning, {})[date_of(instant_of(wall))] = None
    moved = [warning.on(list(on)) for warning, on in dates.items() if warning.is_moved]
    return moved, [warning.on(list(on)) for warning, on in dates.items() if not warning.is_moved]


def _zone_of(member: Member) -> str:
    """Return the name of the zone by whose clocks due times are given."""
    own = member.zone.name
    return rule_zone(member.text, own) if isinstance(member, RRule) else own


def _all_skipped(view: _View) -> Iterator[str]:
    """Warn if calendars leave nothing of what comes within weeks."""
    if not view.schedule.calendars:
        return
    coming = list(view.coming(_LOOKED_AT))
    reasons = [view.timetable.skip_reason(epoch_s(due)) for due in coming]
    is_long = len(coming) < _LOOKED_AT or coming[-1] - coming[0] >= _LONG_CLOSED
    if reasons and all(reasons) and is_long:
        yield f"none of the next {counted(len(reasons), 'due time')} will run: {reasons[0]}"


def _jitter(view: _View) -> Iterator[str]:
    jitter_s = view.parsed.jitter.longest_s
    if not jitter_s:
        return
    gaps = [after - before for before, after in pairwise(view.coming(_LOOKED_AT))]
    least = min(gaps, default=None)
    if least is not None and least < timedelta(seconds=jitter_s):
        jitter, gap = (format_duration(length_s) for length_s in (jitter_s, least.total_seconds()))
        yield f"jitter {jitter} is cut: the next due time follows after {gap}"


def _dense(view: _View) -> Iterator[str]:
    """Warn if it is due so often that a job without end would be the better form."""
    gaps = {after - before for before, after in pairwise(view.coming(4))}
    if len(gaps) == 1 and (gap := gaps.pop()) < _DENSE:
        per_day = round(timedelta(days=1) / gap)
        yield f"due {each(length(gap.seconds))}: {per_day:,} runs a day"
