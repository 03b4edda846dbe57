"""Hostile input is refused by an error of ours, whatever it is."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from itertools import product
from typing import get_args

from hypothesis import example, given, settings
from hypothesis import strategies as st

from matins.domain.schedules.cron.clock_changes import ClockChanges, Gap, Overlap
from matins.domain.schedules.cron.expression import Dialect
from matins.domain.schedules.parsing import problems
from matins.domain.schedules.schedule import Schedule
from matins.domain.timetables.compiling import compile_schedule
from matins.domain.values.errors import ScheduleError

ANCHOR = datetime(2026, 11, 29, tzinfo=UTC)
DIALECTS: list[Dialect] = ["unix", "quartz", "jenkins"]
TOKENS = [
    "*",
    "?",
    "L",
    "W",
    "#",
    "/",
    "-",
    ",",
    "H",
    "(",
    ")",
    "@",
    "0",
    "1",
    "5",
    "7",
    "31",
    "60",
]
TOKENS += ["99999999", "MON", "FEB", " ", " ", " ", " ", "\t", "TZ=", "L-3", "15W", "5#5", "2099"]
CRONLIKE = st.lists(st.sampled_from(TOKENS), max_size=24).map("".join)
POLICIES = [
    ClockChanges(gap, overlap) for gap, overlap in product(get_args(Gap), get_args(Overlap))
]
ZONES = ("Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia")
INSTANTS = st.sampled_from(
    [datetime.min.replace(tzinfo=UTC), ANCHOR, datetime.max.replace(tzinfo=UTC)]
)


def ask(schedule: Schedule, instant: datetime) -> None:
    """Ask all there is to ask; nothing but ScheduleError may be raised."""
    assert all(problem.message for problem in problems(schedule))
    with contextlib.suppress(ScheduleError):
        table = compile_schedule(schedule, seed="job", anchor=ANCHOR)
        due = table.next_after(instant)
        assert due is None or due > instant
        earlier = table.previous_before(instant)
        assert earlier is None or earlier < instant


@settings(max_examples=600, deadline=None)
@given(CRONLIKE | st.text(max_size=40), st.sampled_from(DIALECTS), INSTANTS)
@example("9" * 1000, "unix", ANCHOR)
@example("0-99999999/1 * * * *", "unix", ANCHOR)
@example("*/" + "9" * 900 + " * * * *", "unix", ANCHOR)
@example(",".join(["*/7"] * 240) + " * * * *", "unix", ANCHOR)
@example(",".join(["1-59/1"] * 140) + " * * * *", "unix", ANCHOR)
@example("0 0 0 ? 2 2#5 2072", "quartz", ANCHOR)
@example("\0", "unix", ANCHOR)
@example("\ud800 * * * *", "unix", ANCHOR)
def test_cron(expression: str, dialect: Dialect, instant: datetime) -> None:
    """TM-04: whatever is written, there is an answer, or a reason why there is none."""
    ask(Schedule(cron=expression, dialect=dialect), instant)


@settings(max_examples=300, deadline=None)
@given(CRONLIKE, st.sampled_from(POLICIES), st.sampled_from(ZONES), INSTANTS)
@example("* 2 * 2 1#5", ClockChanges("skip", "second"), "Africa/Casablanca", ANCHOR)
def test_cron_with_its_own_policy(
    expression: str, dst: ClockChanges, zone: str, instant: datetime
) -> None:
    ask(Schedule(cron=expression, timezone=zone, dst=dst), instant)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60), INSTANTS)
@example("P999999999W", "2026-01-01T00:00:00", ANCHOR)
@example("36525d", "9999-12-31T23:59:59", ANCHOR)
@example("1s", "0001-01-01T00:00:00", ANCHOR)
@example("1d", "0001-01-01T00:00:00", ANCHOR)
def test_every(every: str, anchor: str, instant: datetime) -> None:
    ask(Schedule(every=every, anchor=anchor, timezone="Europe/Berlin"), instant)


@settings(max_examples=200, deadline=None)
@given(
    st.text(max_size=60) | st.from_regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d(Z|[+-]\d\d:\d\d)"), INSTANTS
)
@example("0001-01-01T00:00:00+14:00", ANCHOR)
@example("0000-01-01T00:00:00", ANCHOR)
def test_at(at: str, instant: datetime) -> None:
    ask(Schedule(at=at, timezone="Pacific/Apia"), instant)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
@example("Europe/../UTC", "0s")
@example("\ud800", "\ud800")
def test_zone_and_jitter(zone: str, jitter: str) -> None:
    ask(Schedule(cron="0 0 * * *", timezone=zone, jitter=jitter), ANCHOR)
