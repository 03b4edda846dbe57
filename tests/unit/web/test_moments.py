"""Moments ahead are typed by the clocks of the job's zone, and told by them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from matins.domain.time.zones import find_zone
from matins.domain.values.errors import InvalidInputError
from matins.web.moments import UTC_ZONE, in_zone, read_ahead, told_in_zone

NOW = datetime(2026, 3, 28, 12, 0, 7, tzinfo=UTC)
BERLIN = find_zone("Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("", None),
        ("2h", NOW + timedelta(hours=2)),
        ("+2h", NOW + timedelta(hours=2)),
        ("2026-12-01 06:00", datetime(2026, 12, 1, 5, tzinfo=UTC)),
        ("2026-07-01 06:00", datetime(2026, 7, 1, 4, tzinfo=UTC)),
        ("tomorrow 06:00", datetime(2026, 3, 29, 4, tzinfo=UTC)),
        ("2026-12-01 06:00 UTC", datetime(2026, 12, 1, 6, tzinfo=UTC)),
        ("2026-10-25T02:30+01:00", datetime(2026, 10, 25, 1, 30, tzinfo=UTC)),
    ],
)
def test_what_is_typed_is_by_the_zone(text: str, moment: datetime | None) -> None:
    assert read_ahead("until", text, BERLIN, NOW) == moment


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("2026-03-29 02:30", "until: clocks in Europe/Berlin skip"),
        ("tomorrow 02:30", "until: clocks in Europe/Berlin skip"),
        ("2026-10-25 02:30", "until: clocks in Europe/Berlin show 2026-10-25 02:30:00 twice"),
        ("some day", "until: 'some day' is no moment"),
    ],
)
def test_what_is_not_clear_is_told(text: str, told: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        read_ahead("until", text, BERLIN, NOW)
    assert str(raised.value).startswith(told)


def test_what_is_shown_in_a_field_is_read_as_the_same_moment() -> None:
    at = datetime(2026, 12, 1, 5, 30, 10, tzinfo=UTC)
    assert in_zone(at, BERLIN) == "2026-12-01 06:30:10"
    assert read_ahead("until", in_zone(at, BERLIN), BERLIN, NOW) == at


def test_a_moment_is_told_with_its_zone() -> None:
    at = datetime(2026, 12, 1, 5, 30, tzinfo=UTC)
    told = "2026-12-01 06:30:00 Europe/Berlin (2026-12-01 05:30:00 UTC)"
    assert told_in_zone(at, BERLIN) == told
    assert told_in_zone(at, UTC_ZONE) == "2026-12-01 05:30:00 UTC"
