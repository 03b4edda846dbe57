"""Zone tables, compared with the standard library's reading of the same files."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from importlib import resources
from zoneinfo import ZoneInfo

import pytest

from matins.domain.time.instants import epoch_s
from matins.domain.time.zones import data_version, find_zone, zone_names
from matins.domain.values.errors import ScheduleError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def library_offset(info: ZoneInfo, instant: int) -> float:
    """Return the offset by a round trip: `utcoffset` goes through `fold`, which may be wrong."""
    wall = (EPOCH + timedelta(seconds=instant)).replace(tzinfo=info)
    return (info.fromutc(wall).replace(tzinfo=None) - wall.replace(tzinfo=None)).total_seconds()


def test_each_zone_has_the_library_s_offset_around_each_change() -> None:
    for name in sorted(zone_names()):
        zone = find_zone(name)
        with resources.files("tzdata.zoneinfo").joinpath(*name.split("/")).open("rb") as file:
            info = ZoneInfo.from_file(file)
        for start in zone.starts[1:160] + zone.starts[1:][-4:]:
            for instant in (start - 1, start):
                assert zone.offset_at(instant) == library_offset(info, instant), (name, instant)


def test_a_wall_time_in_a_gap_is_reached_right_after_it() -> None:
    wall = epoch_s(datetime(2024, 3, 31, 2, 30, tzinfo=UTC))
    reached = find_zone("Europe/Berlin").first_reached(wall)
    assert reached == epoch_s(datetime(2024, 3, 31, 1, 0, tzinfo=UTC))


def test_a_wall_time_that_occurs_twice_is_reached_in_its_first_pass() -> None:
    wall = epoch_s(datetime(2024, 10, 27, 2, 30, tzinfo=UTC))
    reached = find_zone("Europe/Berlin").first_reached(wall)
    assert reached == epoch_s(datetime(2024, 10, 27, 0, 30, tzinfo=UTC))


@pytest.mark.parametrize("year", [2024, 2424, 2824, 3224, 9624])
def test_centuries_after_the_last_change_that_is_listed_clocks_still_change(year: int) -> None:
    zone = find_zone("Europe/Berlin")
    skipped = epoch_s(datetime(year, 3, 31, 2, 30, tzinfo=UTC))
    gap = epoch_s(datetime(year, 3, 31, 1, tzinfo=UTC))
    assert zone.first_reached(skipped) == gap
    assert (zone.offset_at(gap - 1), zone.offset_at(gap)) == (3600, 7200)
    twice = epoch_s(datetime(year, 10, 27, 2, 30, tzinfo=UTC))
    assert zone.first_reached(twice) == twice - 7200
    assert zone.latest_wall(twice - 3600) == epoch_s(datetime(year, 10, 27, 2, 59, 59, tzinfo=UTC))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("europe/berlin", "Europe/Berlin"),
        ("Berlin", "Europe/Berlin"),
        ("US/Estern", "US/Eastern"),
        ("../../etc/passwd", "such as"),
        ("/usr/share/zoneinfo/UTC", "such as"),
        ("", "such as"),
        ("\0", "such as"),
        ("E" * 1000, "such as"),
    ],
)
def test_an_unknown_zone_is_refused_with_a_hint(name: str, hint: str) -> None:
    with pytest.raises(ScheduleError, match="is not an IANA time zone") as error:
        find_zone(name)
    assert hint in str(error.value)
    assert len(str(error.value)) < 200


def test_the_version_is_the_one_that_the_files_themselves_tell() -> None:
    source = resources.files("tzdata.zoneinfo").joinpath("tzdata.zi").read_text("ascii")
    assert source.splitlines()[0] == f"# version {data_version()}"
    assert re.fullmatch(r"20\d\d[a-z]+", data_version())
