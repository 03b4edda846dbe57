"""Hostile recurrence rules are refused by an error of ours or answered, whatever they are."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from time import process_time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.unit.schedules.recurrence_texts import POSITIONS, STARTS, Made, coarse, fine, numbers

from matins.domain.schedules.rrule.recurrences import read_recurrence
from matins.domain.time.civil import FIRST_S, LAST_S
from matins.domain.time.instants import epoch_s
from matins.domain.time.zones import find_zone
from matins.domain.values.errors import ScheduleError

CREATED = epoch_s(datetime(2026, 11, 29, tzinfo=UTC))
TOKENS = ["FREQ=", "DAILY", "YEARLY", "SECONDLY", "BYDAY=", "-1MO", "BYSETPOS=", "UNTIL=", "COUNT="]
TOKENS += ["DTSTART", "RRULE", "RDATE", "EXDATE", ":", ";", ",", "=", "\n", "\r\n ", "TZID=", '"']
TOKENS += ["Europe/Berlin", "20260329T023000", "99991231T235959Z", "00010101", "VALUE=DATE", "0"]
TOKENS += ["INTERVAL=", "9999999999", "BYMONTH=2", "BYMONTHDAY=30", "BYHOUR=", "WKST=SU", "Z", "-"]
RULELIKE = st.lists(st.sampled_from(TOKENS), max_size=24).map("".join)
INSTANTS = st.sampled_from([FIRST_S - 1, FIRST_S, CREATED, LAST_S - 1, LAST_S, LAST_S + 1])
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "Pacific/Apia", "America/Los_Angeles"])


def ask(text: str, zone: str, start: int, instant: int) -> None:
    """Ask all there is to ask; nothing but ScheduleError may be raised."""
    with contextlib.suppress(ScheduleError):
        rule = read_recurrence(text, find_zone(zone), start)
        due = rule.next_after(instant)
        assert due is None or (instant < due <= LAST_S and rule.previous_before(due + 1) == due)
        earlier = rule.previous_before(instant)
        assert earlier is None or (earlier < instant and rule.next_after(earlier - 1) == earlier)


@settings(max_examples=400, deadline=None)
@given(RULELIKE | st.text(max_size=60), ZONES, INSTANTS, INSTANTS)
@example("FREQ=DAILY;UNTIL=00010101", "Asia/Tokyo", FIRST_S, LAST_S)
@example("FREQ=HOURLY;BYHOUR=1", "Pacific/Apia", LAST_S, FIRST_S)
@example("FREQ=SECONDLY;INTERVAL=9999999999;COUNT=9999999999", "UTC", CREATED, CREATED)
@example("FREQ=YEARLY;INTERVAL=9999999999;BYDAY=MO;BYSETPOS=2", "UTC", CREATED, LAST_S)
@example("FREQ=WEEKLY;INTERVAL=9999999999", "UTC", CREATED, LAST_S)
@example("FREQ=DAILY;COUNT=" + "9" * 900, "UTC", CREATED, CREATED)
@example("FREQ=DAILY\n" + "RDATE:" * 1500, "UTC", CREATED, CREATED)
@example("\ud800", "UTC", CREATED, CREATED)
@example("DTSTART;" + 'TZID="' * 900, "UTC", CREATED, CREATED)
def test_any_text(text: str, zone: str, start: int, instant: int) -> None:
    ask(text, zone, start, instant)


@settings(max_examples=200, deadline=None)
@given(
    coarse() | coarse(POSITIONS) | fine() | fine(POSITIONS, numbers(1, 500).map("COUNT={}".format)),
    STARTS,
    ZONES,
    INSTANTS,
)
def test_any_rule(rule: str, start: datetime, zone: str, instant: int) -> None:
    ask(Made(rule, start).text(zone), zone, CREATED, instant)


HOURS = ",".join(map(str, range(23)))
SIXTY = ",".join(map(str, range(59)))
DENSE = f"BYHOUR={HOURS};BYMINUTE={SIXTY};BYSECOND={SIXTY}"
RARE = "BYMONTH=2;BYMONTHDAY=29;BYDAY=MO"
NEVER = "BYMONTH=2;BYMONTHDAY=30"
HARD = [
    f"FREQ=YEARLY;{NEVER}",
    f"FREQ=DAILY;INTERVAL=2;{NEVER}",
    f"FREQ=SECONDLY;{NEVER}",
    f"FREQ=DAILY;{DENSE};BYSETPOS={','.join(map(str, range(1, 150)))}",
    f"FREQ=YEARLY;{NEVER};{DENSE};COUNT=3",
    f"FREQ=SECONDLY;INTERVAL=7;{RARE};{DENSE}",
    f"FREQ=SECONDLY;INTERVAL=997;{RARE};{DENSE}",
    f"FREQ=SECONDLY;INTERVAL=997;{RARE};BYHOUR=3;BYMINUTE=4;BYSECOND=5",
    "DTSTART:20240101T000000\nRRULE:FREQ=HOURLY;INTERVAL=168;BYDAY=TU",
    "DTSTART:20240101T233000\nRRULE:FREQ=HOURLY;INTERVAL=168;BYDAY=MO;COUNT=500",
    "DTSTART:20240101T000001\nRRULE:FREQ=SECONDLY;INTERVAL=2;BYSECOND=2,4",
    "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=6",
    "DTSTART:20250201T000000\nRRULE:FREQ=MONTHLY;INTERVAL=12;BYMONTHDAY=27,28,29,30;BYSETPOS=4",
    "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;COUNT=500",
    "FREQ=YEARLY;COUNT=7900",
    f"FREQ=YEARLY;BYWEEKNO={','.join(map(str, range(-53, 0)))};{NEVER}",
    f"FREQ=YEARLY;BYYEARDAY={','.join(map(str, range(1, 230)))};BYMONTH=12",
    "DTSTART:19700101T000000\nRRULE:FREQ=SECONDLY\nEXDATE:"
    + ",".join(f"2026{month:02}{day:02}" for month in range(11, 13) for day in range(1, 29)),
]


@pytest.mark.parametrize("text", HARD)
def test_hard_rules_are_answered_in_bounded_time(text: str) -> None:
    """A bound that only a search without one misses: bench/schedules.py measures."""
    assert len(text) <= 1_000
    began = process_time()
    rule = read_recurrence(text, find_zone("Europe/Berlin"), CREATED)
    rule.next_after(CREATED)
    rule.previous_before(LAST_S)
    assert process_time() - began < 1
