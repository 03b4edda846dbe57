"""A local time by which somebody decides is refused where it names no instant, or two."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.domain.time.instants import instant_of, parse_instant
from matins.domain.time.local_times import parse_clear_instant
from matins.domain.time.wall_clock import WallClock
from matins.domain.time.zones import find_zone
from matins.domain.values.errors import ScheduleError

ZONES = (
    "Europe/Berlin",
    "America/Nuuk",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Africa/Casablanca",
)
HOUR_S = 3600
TWICE = "2026-10-25 02:30:00"
BERLIN = find_zone("Europe/Berlin")


@given(
    name=st.sampled_from(ZONES),
    change=st.integers(10, 120),
    away=st.integers(-30 * HOUR_S, 30 * HOUR_S),
)
def test_it_is_read_if_exactly_one_instant_is_shown_so(name: str, change: int, away: int) -> None:
    zone = find_zone(name)
    change %= len(zone.starts) - 10  # those before lie before the year 1900 in some zones
    shown = zone.starts[change + 10] + zone.offsets[change + 10] + away
    wall = f"{instant_of(shown):%Y-%m-%dT%H:%M:%S}"
    # every offset that the zone ever had, asked one by one
    instants = {shown - offset for offset in zone.offsets}
    expected = sorted(at for at in instants if at + zone.offset_at(at) == shown)
    assert WallClock(zone).passes(shown) == expected
    if len(expected) == 1:
        assert parse_clear_instant(wall, zone) == expected[0]
    else:
        with pytest.raises(ScheduleError):
            parse_clear_instant(wall, zone)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("2026-03-29 02:30", "skip 2026-03-29 02:30:00; the first after it is 2026-03-29 03:00:00"),
        (
            "2026-10-25T02:30",
            f"show {TWICE} twice; write {TWICE}+02:00 or {TWICE}+01:00",
        ),
    ],
)
def test_what_is_told_can_be_written_instead(text: str, told: str) -> None:
    with pytest.raises(ScheduleError) as raised:
        parse_clear_instant(text, BERLIN)
    assert str(raised.value) == f"clocks in Europe/Berlin {told}"


@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25"])
def test_around_a_change_of_the_clocks_each_hour_is_told_apart(day: str) -> None:
    begin = datetime.fromisoformat(day)
    read = 0
    for hour in range(24):
        try:
            parse_clear_instant((begin + timedelta(hours=hour)).isoformat(), BERLIN)
        except ScheduleError:
            assert hour == 2
        else:
            read += 1
    assert read == 23


def test_an_offset_says_which_of_both_is_meant() -> None:
    for text in ("2026-10-25T02:30+02:00", "2026-10-25T02:30+01:00", "2026-03-29T02:30Z"):
        assert parse_clear_instant(text, BERLIN) == parse_instant(text, BERLIN)
