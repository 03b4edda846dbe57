"""The wall times of a pattern, compared with all seconds of its days."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from hypothesis import given, settings
from hypothesis import strategies as st

from matins.domain.schedules.cron.days import Days, weekdays
from matins.domain.schedules.cron.fields import members
from matins.domain.schedules.cron.pattern import Pattern
from matins.domain.time.civil import DAY_S

DAYS = range(20_786, 20_789)  # Sunday, 29 November 2026, and the two days after it


def bits(size: int) -> st.SearchStrategy[int]:
    """Choose some of the values of a field, often few and often all."""
    few = st.sets(st.integers(0, size - 1), min_size=1, max_size=4)
    return few.map(lambda values: sum(1 << value for value in values)) | st.just((1 << size) - 1)


@settings(max_examples=100, deadline=None)
@given(bits(60), bits(60), bits(24), bits(3), st.lists(st.integers(0, 3 * DAY_S - 1), max_size=50))
def test_the_nearest_match_is_found_in_both_directions(
    seconds: int, minutes: int, hours: int, wanted_days: int, asked: list[int]
) -> None:
    pattern = Pattern(
        seconds, minutes, hours, Days(weekdays(wanted_days), 0xFFF, None), is_fixed=True
    )
    matching = [
        day * DAY_S + hour * 3600 + minute * 60 + second
        for number, day in enumerate(DAYS)
        if wanted_days >> number & 1
        for hour in members(hours)
        for minute in members(minutes)
        for second in members(seconds)
    ]
    for wall in (DAYS[0] * DAY_S + second for second in asked):
        coming = bisect_left(matching, wall)
        if coming < len(matching):
            assert pattern.next_from(wall) == matching[coming]
        gone = bisect_right(matching, wall)
        if gone:
            assert pattern.last_until(wall) == matching[gone - 1]
