"""Recurrence rules around clock changes, compared with a walk over minutes and days."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import groupby

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.schedules.clock_walk import ANY_CHANGE, MINUTE, Change, walls
from tests.unit.schedules.recurrence_texts import WEEKDAYS, first_pass

from matins.domain.schedules.rrule.recurrences import read_recurrence
from matins.domain.time.instants import epoch_s
from matins.domain.time.zones import find_zone

HOURS = st.none() | st.frozensets(st.integers(0, 23), min_size=1, max_size=12)
MINUTES = st.none() | st.frozensets(st.sampled_from(range(0, 60, 5)), min_size=1, max_size=4)
DAYS = st.none() | st.frozensets(st.integers(0, 6), min_size=1, max_size=4)


class Fine(msgspec.Struct, frozen=True):
    """A rule with FREQ=HOURLY or MINUTELY; None stands for a part that is left out."""

    unit: int
    interval: int
    hours: frozenset[int] | None
    minutes: frozenset[int] | None
    days: frozenset[int] | None

    @property
    def rule(self) -> str:
        parts = [f"FREQ={'HOURLY' if self.unit == 60 else 'MINUTELY'};INTERVAL={self.interval}"]
        parts += [f"BYHOUR={listed(self.hours)}"] if self.hours else []
        parts += [f"BYMINUTE={listed(self.minutes)}"] if self.minutes else []
        parts += [f"BYDAY={','.join(WEEKDAYS[day] for day in self.days)}"] if self.days else []
        return ";".join(parts)

    def is_due(self, elapsed: int, block: int, wall: datetime) -> bool:
        """Return whether a minute is due; `elapsed` and `block` count from the start."""
        if elapsed < 0 or block % self.interval:
            return False
        if self.minutes is None and elapsed % self.unit:
            return False
        return (
            (self.minutes is None or wall.minute in self.minutes)
            and (self.hours is None or wall.hour in self.hours)
            and (self.days is None or wall.weekday() in self.days)
        )


def listed(numbers: frozenset[int]) -> str:
    return ",".join(map(str, sorted(numbers)))


def due_between(text: str, first: datetime, end: datetime) -> list[datetime]:
    """Return the due times of a window, found forwards, and hold that the way back is the same."""
    rule = read_recurrence(text, find_zone("UTC"), 0)
    forwards: list[int] = []
    due = rule.next_after(epoch_s(first) - 1)
    while due is not None and due < epoch_s(end):
        forwards.append(due)
        due = rule.next_after(due)
    backwards: list[int] = []
    due = rule.previous_before(epoch_s(end))
    while due is not None and due >= epoch_s(first):
        backwards.append(due)
        due = rule.previous_before(due)
    assert backwards[::-1] == forwards
    return [datetime.fromtimestamp(due, UTC) for due in forwards]


@settings(max_examples=150, deadline=None)
@given(
    st.builds(Fine, st.sampled_from([1, 60]), st.integers(1, 30), HOURS, MINUTES, DAYS),
    ANY_CHANGE,
    st.integers(0, 40 * 60),
)
def test_rules_by_the_hour_follow_real_time(fine: Fine, change: Change, before: int) -> None:
    start = change.at - before * MINUTE
    end = change.at + timedelta(hours=30)
    shown = walls(change.zone, start - timedelta(hours=1), (end - start) // MINUTE + 60)
    passed = dict(shown)
    wall = passed[start]
    if first_pass(wall, change.zone) != start or wall.second:
        return
    origin = start - (wall.minute * MINUTE if fine.unit == 60 else 0 * MINUTE)
    wanted = [
        instant
        for instant, wall in shown
        if fine.is_due(
            (instant - start) // MINUTE, (instant - origin) // (fine.unit * MINUTE), wall
        )
    ]
    text = f"DTSTART;TZID={change.zone}:{passed[start]:%Y%m%dT%H%M%S}\nRRULE:{fine.rule}"
    assert due_between(text, start - MINUTE, end) == wanted


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(["DAILY", "WEEKLY", "MONTHLY"]),
    st.frozensets(st.integers(0, 23), min_size=1, max_size=6),
    st.frozensets(st.sampled_from([0, 15, 30, 45]), min_size=1, max_size=3),
    st.frozensets(st.integers(1, 9) | st.integers(-9, -1), min_size=1, max_size=3),
    ANY_CHANGE,
)
def test_positions_are_counted_without_the_skipped_times(
    frequency: str,
    hours: frozenset[int],
    minutes: frozenset[int],
    positions: frozenset[int],
    change: Change,
) -> None:
    """The rule begins on the first of a month three months before, which is no Monday mostly."""
    noon = change.at.replace(tzinfo=None, hour=12, minute=0, second=0)
    first = (noon - timedelta(days=90)).replace(day=1, hour=0)
    days = [first + timedelta(days=number) for number in range(-7, 140)]
    candidates = [
        day.replace(hour=hour, minute=minute)
        for day in days
        for hour in sorted(hours)
        for minute in sorted(minutes)
    ]
    periods = {
        "DAILY": lambda wall: wall.date(),
        "WEEKLY": lambda wall: wall.isocalendar()[:2],
        "MONTHLY": lambda wall: (wall.year, wall.month),
    }
    wanted: list[datetime] = []
    for _, group in groupby(candidates, periods[frequency]):
        passes = [first_pass(wall, change.zone) for wall in group]
        existing = [instant for instant in passes if instant is not None]
        indices = {at - 1 if at > 0 else len(existing) + at for at in positions}
        wanted += [existing[at] for at in sorted(indices) if 0 <= at < len(existing)]
    text = (
        f"DTSTART;TZID={change.zone}:{first:%Y%m%dT%H%M%S}\nRRULE:FREQ={frequency};"
        f"BYDAY={','.join(WEEKDAYS)};BYHOUR={listed(hours)};BYMINUTE={listed(minutes)};"
        f"BYSETPOS={listed(positions)}"
    )
    low, high = (change.at + timedelta(days=number) for number in (-40, 8))
    found = due_between(text, low, high)
    assert found == [due for due in wanted if low <= due < high]
