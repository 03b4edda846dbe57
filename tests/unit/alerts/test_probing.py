"""Each bad job has its turn once a minute, whenever looks come."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from matins.domain.alerts.probing import SLICES, slices_between

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
PAUSES = st.lists(st.integers(1, 59_999).map(lambda ms: timedelta(milliseconds=ms)), max_size=40)


@given(PAUSES)
def test_looks_that_follow_each_other_take_each_second_s_slice_once(
    pauses: list[timedelta],
) -> None:
    woken_until, turns = NOON, list[int]()
    for pause in pauses:
        turns += slices_between(woken_until, woken_until + pause)
        woken_until += pause
    seconds = range(int(NOON.timestamp()) + 1, int(woken_until.timestamp()) + 1)
    assert turns == [second % SLICES for second in seconds]


@given(st.timedeltas(timedelta(minutes=1), timedelta(days=3)))
def test_after_a_minute_without_a_look_all_have_their_turn(pause: timedelta) -> None:
    assert sorted(slices_between(NOON, NOON + pause)) == list(range(SLICES))


@given(st.timedeltas(timedelta(milliseconds=1), timedelta(days=3)))
def test_all_have_their_turn_where_the_clock_was_put_back(back: timedelta) -> None:
    assert sorted(slices_between(NOON, NOON - back)) == list(range(SLICES))
