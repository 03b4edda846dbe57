"""Lines over the last hour, and the strip of partitions."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from matins.domain.runs.cluster import Cluster, SchedulerRecord
from matins.web.charts.lines import HEIGHT, PAD, line
from matins.web.charts.partitions import ranges, strip


def holder(number: int, partitions: list[int]) -> SchedulerRecord:
    return SchedulerRecord(UUID(int=number << 96), "host", "1", "alive", None, 1, 9, partitions)


def test_a_line_goes_from_the_left_to_the_right_edge() -> None:
    drawn = line([0, 5, 10], "fires")
    assert drawn.path == f"M0 {HEIGHT - PAD} L120 {HEIGHT / 2:g} L240 {PAD}"
    assert drawn.top == 10


def test_where_nothing_was_measured_a_line_has_a_gap() -> None:
    assert line([1, None, 1, 1], "lags").path.count("M") == 2
    assert line([None, None], "lags").path == ""


def test_a_single_value_is_a_dot_that_can_be_seen() -> None:
    assert line([None, 4.0, None], "lags").path == f"M120 {PAD} L120 {PAD}"


def test_the_target_is_in_the_picture_though_all_is_below_it() -> None:
    drawn = line([0.1, 0.2], "lags", 1.0)
    assert (drawn.top, drawn.target_y) == (1.0, PAD)


def test_nothing_at_all_is_drawn_at_the_bottom() -> None:
    assert line([0, 0], "fires").path == f"M0 {HEIGHT - PAD} L240 {HEIGHT - PAD}"


def test_each_holder_has_its_cells_and_who_is_gone_has_none() -> None:
    cluster = Cluster([holder(1, [0, 1, 64]), holder(2, [3])], [3, 4])
    free, first = strip(cluster).shares
    assert (free.fill, free.name, free.partitions) == ("bad", "No holder", "2 partitions")
    assert (first.fill, first.name, first.ranges) == ("0", "host 00000001", "0-1, 64")
    assert first.path == "M0 0h12v12h-12zM14 0h12v12h-12zM0 14h12v12h-12z"


@given(st.sets(st.integers(0, 255)))
def test_ranges_name_each_partition_once(places: set[int]) -> None:
    named: list[int] = []
    for part in filter(None, ranges(sorted(places)).split(", ")):
        first, _, last = part.partition("-")
        named += range(int(first), int(last or first) + 1)
    assert named == sorted(places)
