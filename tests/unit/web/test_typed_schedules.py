"""Schedules as people type them into one field."""

from __future__ import annotations

import pytest

from matins.domain.schedules.parsing import problems
from matins.domain.schedules.schedule import Schedule, Times
from matins.domain.values.errors import InvalidInputError
from matins.web.pages.playground import EXAMPLES
from matins.web.typed_schedules import TEXT_MAX, read_schedule

ZONE = "Europe/Berlin"


@pytest.mark.parametrize(
    ("text", "schedule"),
    [
        ("30 2 * * *", Schedule(cron="30 2 * * *", timezone=ZONE)),
        ("@daily", Schedule(cron="@daily", timezone=ZONE)),
        ("every 15m", Schedule(every="15m", timezone=ZONE)),
        ("PT1H", Schedule(every="PT1H", timezone=ZONE)),
        ("FREQ=DAILY", Schedule(rrule="FREQ=DAILY", timezone=ZONE)),
        ("RRULE:FREQ=DAILY", Schedule(rrule="RRULE:FREQ=DAILY", timezone=ZONE)),
        ("2026-12-24 18:00", Schedule(at=["2026-12-24 18:00"], timezone=ZONE)),
        ("cron: 0 1 * * *\ntimezone: UTC", Schedule(cron="0 1 * * *")),
        ("schedule: {every: 5m}", Schedule(every="5m", timezone=ZONE)),
        ("{any_of: [{every: 5m}]}", Schedule(any_of=[Times(every="5m")], timezone=ZONE)),
        ("rrule: FREQ=DAILY", Schedule(rrule="FREQ=DAILY", timezone=ZONE)),
    ],
)
def test_its_kind_follows_from_how_it_looks(text: str, schedule: Schedule) -> None:
    assert read_schedule(text, ZONE) == schedule


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_is_a_schedule(example: str) -> None:
    assert problems(read_schedule(example, "UTC")) == []


@pytest.mark.parametrize("text", ["{cron: [}", "cron: {a: b}", "nothing: here", "x" * TEXT_MAX * 2])
def test_what_cannot_be_read_says_why(text: str) -> None:
    with pytest.raises(InvalidInputError):
        read_schedule(text, ZONE)
