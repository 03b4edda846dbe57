"""Looking at a schedule before it is trusted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from matins.domain.schedules.schedule import Schedule
from matins.domain.timetables.compiling import Timing
from matins.domain.values.errors import InvalidInputError
from matins.domain.views import Preview
from matins.insight.preview import PreviewedJob
from matins.insight.preview import preview as look_ahead

NOON = datetime(2026, 3, 28, 12, tzinfo=UTC)


def preview(schedule: Schedule, count: int, after: datetime) -> Preview:
    """Look at a schedule that would be set at noon."""
    return look_ahead(PreviewedJob(schedule, Timing(NOON, NOON)), count, after)


def test_due_times_are_shown_in_utc_and_as_clocks_show_them() -> None:
    shown = preview(Schedule(cron="30 2 * * *", timezone="Europe/Berlin"), 2, NOON)
    assert [due.utc.isoformat() for due in shown.due] == [
        "2026-03-29T01:00:00+00:00",
        "2026-03-30T00:30:00+00:00",
    ]
    assert [due.local.isoformat() for due in shown.due] == [
        "2026-03-29T03:00:00+02:00",
        "2026-03-30T02:30:00+02:00",
    ]


def test_every_counts_from_the_instant_that_is_asked_about() -> None:
    [due] = preview(Schedule(every="90s"), 1, NOON).due
    assert due.utc == NOON + timedelta(seconds=90)


def test_a_schedule_that_ends_gives_what_is_left() -> None:
    assert len(preview(Schedule(at=["2026-03-28T13:00:00Z"]), 10, NOON).due) == 1


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(InvalidInputError) as refused:
        preview(Schedule(cron="61 * * * *", timezone="Mars"), 0, NOON)
    places = [problem.where for problem in refused.value.problems]
    assert places == ["schedule.timezone", "schedule.cron", "count"]
