"""Where the reading of partitions begins and goes on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from itertools import pairwise
from uuid import UUID

from matins.domain.runs.claims import BEGINNING, Mark
from matins.scheduler.coverage import LATE, PAGE, Coverage
from matins.testing.virtual import START

MINUTE = timedelta(minutes=1)


def read(coverage: Coverage, partitions: Mapping[int, int], minutes: float) -> dict[int, Mark]:
    """Read partitions that hold nothing, so many minutes after the start; gives where it began."""
    reading = coverage.begin(partitions, START + minutes * MINUTE)
    marks = reading.marks
    reading.turn([], partitions)
    return marks


def after(minutes: float) -> Mark:
    """Return the mark of all that is due from so many minutes after the start on."""
    return Mark(START + minutes * MINUTE, UUID(int=0))


def test_each_partition_gives_an_equal_share_of_a_page_until_it_has_no_more() -> None:
    coverage, loaded = Coverage(), {1: 5, 2: 5}
    reading = coverage.begin(loaded, START)
    assert reading.share == PAGE // 2
    assert reading.turn([(1, after(0))] * reading.share + [(2, after(9))], loaded) == {2: 5}
    assert reading.marks == {1: after(0)}
    assert reading.share == PAGE
    assert reading.turn([(1, after(1))], loaded) == {1: 5}
    assert reading.marks == {}


def test_a_partition_goes_on_after_the_last_that_it_gave() -> None:
    loaded = {1: 5}
    reading = Coverage().begin(loaded, START)
    reading.turn([(1, after(at)) for at in range(PAGE)], loaded)
    assert reading.marks == {1: after(PAGE - 1)}


def test_a_reading_begins_shortly_before_the_one_before_it() -> None:
    coverage = Coverage()
    for minutes in (0, 1):
        assert read(coverage, {1: 5}, minutes) == {1: BEGINNING}
    late = LATE / MINUTE
    assert read(coverage, {1: 5}, 2) == {1: after(1 - late)}
    assert read(coverage, {1: 5}, 3) == {1: after(2 - late)}


def test_a_partition_is_swept_from_the_beginning_after_it_was_gained_and_again_at_times() -> None:
    coverage = Coverage()
    swept = [at for at in range(100) if read(coverage, {0: 5}, at) == {0: BEGINNING}]
    assert swept[:2] == [0, 1]
    assert all(10 <= later - sooner <= 20 for sooner, later in pairwise(swept[1:]))
    assert len(swept) > 4


def test_partitions_are_not_all_swept_at_once() -> None:
    coverage, loaded = Coverage(), dict.fromkeys(range(256), 5)
    swept = [
        sum(begin == BEGINNING for begin in read(coverage, loaded, at).values()) for at in range(40)
    ]
    assert max(swept[2:]) <= 64


def test_under_a_new_lease_a_partition_is_read_from_the_beginning() -> None:
    coverage = Coverage()
    for minutes in (0, 1, 2):
        read(coverage, {1: 5}, minutes)
    assert read(coverage, {1: 6}, 3) == {1: BEGINNING}


def test_a_partition_that_was_dropped_is_read_from_the_beginning() -> None:
    coverage = Coverage()
    for minutes in (0, 1, 2):
        read(coverage, {1: 5, 2: 5}, minutes)
    coverage.forget_all_but({2: 5})
    assert read(coverage, {1: 5}, 3) == {1: BEGINNING}


def test_a_partition_that_is_dropped_during_a_reading_is_not_read_on() -> None:
    coverage = Coverage()
    reading = coverage.begin({1: 5, 2: 5, 3: 5}, START)
    assert reading.turn([(1, after(0))] * PAGE, {2: 5, 3: 6}) == {2: 5}
    assert reading.marks == {}
    assert read(coverage, {1: 5}, 2) == {1: BEGINNING}


def test_a_reading_that_came_to_no_end_moves_no_mark() -> None:
    coverage = Coverage()
    for minutes in (0, 1, 2):
        read(coverage, {1: 5}, minutes)
    begun = read(coverage, {1: 5}, 3)
    coverage.begin({1: 5}, START + 4 * MINUTE)
    again = coverage.begin({1: 5}, START + 4 * MINUTE)
    assert begun[1] < again.marks[1] == after(3 - LATE / MINUTE)


def test_a_clock_that_goes_back_moves_the_mark_back() -> None:
    coverage = Coverage()
    for minutes in (60, 61, 62):
        read(coverage, {1: 5}, minutes)
    assert read(coverage, {1: 5}, 5) == {1: after(5 - LATE / MINUTE)}
