"""The years 1 to 9999 are all there is: near their ends schedules answer within them, or not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from msgspec.structs import replace

from matins.domain.schedules.rrule.recurrences import read_recurrence
from matins.domain.schedules.schedule import Schedule
from matins.domain.time.civil import LAST_S
from matins.domain.time.instants import instant_of
from matins.domain.time.zones import find_zone
from matins.domain.timetables.compiling import Timing
from matins.domain.values.errors import ScheduleError
from matins.insight.preview import PreviewedJob, preview

CREATED = datetime(2026, 11, 29, tzinfo=UTC)
TIMING = Timing(CREATED, CREATED)
LAST = instant_of(LAST_S)
ZONES = ("UTC", "Europe/Berlin", "America/Los_Angeles", "Pacific/Kiritimati")
WAYS_TO_GO = tuple(timedelta(seconds=seconds) for seconds in (0, 1, 60, 3_600, 86_400, 10 * 86_400))
SCHEDULES = (
    *(Schedule(every=every) for every in ("1s", "1h", "1d", "7d1h")),
    *(Schedule(cron=cron) for cron in ("* * * * * *", "* * * * *", "0 0 * * *", "59 23 31 12 *")),
    Schedule(at="9999-12-31T15:59:59"),
    *(
        Schedule(rrule=rrule)
        for rrule in (
            "FREQ=SECONDLY",
            "FREQ=SECONDLY;BYSECOND=0,1",
            "FREQ=MINUTELY;BYSECOND=0,59",
            "FREQ=HOURLY;BYSECOND=0",
            "FREQ=DAILY",
            "FREQ=YEARLY",
            "DTSTART:99991231T000000\nRRULE:FREQ=HOURLY;BYMINUTE=0",
            "DTSTART:20260101T000000\nRDATE:99991231T090000",
        )
    ),
)


@pytest.mark.parametrize(
    "written",
    SCHEDULES,
    ids=lambda schedule: schedule.every or schedule.cron or schedule.at or schedule.rrule,
)
@pytest.mark.parametrize("zone", ZONES)
def test_nothing_is_due_or_fired_later(written: Schedule, zone: str) -> None:
    for jitter, left in product(("0s", "10d"), WAYS_TO_GO):
        schedule = replace(written, timezone=zone, jitter=jitter)
        timetable = TIMING.compile(schedule, None)
        due = timetable.next_after(LAST - left)
        assert due is None or LAST - left < due <= timetable.fire_time(due) <= LAST
        last = timetable.previous_before_s(LAST_S + 1 + int(left.total_seconds()))
        assert last is None or last <= LAST_S


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Etc/GMT+12"])
def test_a_rule_by_the_hour_ends_with_the_year_9999_of_utc(zone: str) -> None:
    """Where it is still 9999 by the clocks of the zone."""
    rule = read_recurrence("FREQ=HOURLY;BYSECOND=0", find_zone(zone), 0)
    last = rule.previous_before(LAST_S + 1)
    assert last is not None
    assert rule.next_after(last) is None
    assert rule.next_after(LAST_S) is None


@pytest.mark.parametrize(
    "written",
    SCHEDULES,
    ids=lambda schedule: schedule.every or schedule.cron or schedule.at or schedule.rrule,
)
@pytest.mark.parametrize("zone", ZONES)
def test_a_preview_answers_where_clocks_of_the_zone_show_another_year(
    written: Schedule, zone: str
) -> None:
    schedule = replace(written, timezone=zone)
    for after in (datetime(1, 1, 1, tzinfo=UTC), *(LAST - left for left in WAYS_TO_GO)):
        for due in preview(PreviewedJob(schedule, TIMING), 3, after).due:
            assert due.local == due.utc


def test_a_count_that_is_never_reached_ends_there_too() -> None:
    text = "DTSTART:99991231T200000Z\nRRULE:FREQ=HOURLY;BYMINUTE=0;COUNT=400"
    rule = read_recurrence(text, find_zone("UTC"), 0)
    assert rule.previous_before(LAST_S + 1) == LAST_S - 3_599


def test_a_start_after_it_is_refused() -> None:
    with pytest.raises(ScheduleError, match="outside the years 1 to 9999"):
        read_recurrence(
            "DTSTART;TZID=America/Los_Angeles:99991231T235959\nRRULE:FREQ=HOURLY",
            find_zone("UTC"),
            0,
        )
