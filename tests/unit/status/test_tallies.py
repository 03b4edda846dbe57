"""What minutes tell: shares, lags, and what is late."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from matins.domain.status.tallies import LAG_BOUNDS_S, Minute, Tallies, Tally

NOON = datetime(2026, 3, 2, 12, 0, 30, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
CLASSES = len(LAG_BOUNDS_S) + 1

lags = st.lists(st.integers(0, 50), min_size=CLASSES, max_size=CLASSES).map(tuple)
tallies = st.builds(Tally, *[st.integers(0, 1000)] * 7, lags=lags)


def lagging(**counts: int) -> Tally:
    """A tally of first starts: so many in the class that ends at a bound, as `s0_1=3`."""
    filled = [0] * CLASSES
    for name, count in counts.items():
        filled[LAG_BOUNDS_S.index(float(name[1:].replace("_", ".")))] = count
    return Tally(lags=tuple(filled))


@given(tallies, tallies)
def test_what_was_added_can_be_taken_away(tally: Tally, other: Tally) -> None:
    assert tally.plus(other).plus(other, -1) == tally


def test_a_lag_lies_within_its_class() -> None:
    tally = lagging(s0_1=50, s1=50)
    assert tally.lag_s(0.5) == 0.1
    assert tally.lag_s(0.75) == 0.75
    assert tally.lag_s(0.99) == 0.5 + 0.5 * 49 / 50


@given(lags)
def test_lags_rise_with_the_share(counts: tuple[int, ...]) -> None:
    found = [Tally(lags=counts).lag_s(share / 20) for share in range(1, 21)]
    if not any(counts):
        assert set(found) == {None}
    else:
        known = [lag for lag in found if lag is not None]
        assert len(known) == 20
        assert known == sorted(known)


def test_beyond_the_last_bound_a_lag_is_that_bound() -> None:
    assert Tally(lags=(*[0] * (CLASSES - 1), 5)).lag_s(0.5) == 1800


def test_a_minute_is_late_and_less_is_not() -> None:
    assert lagging(s60=3).late == 0
    assert lagging(s300=3, s1800=1).late == 4


def test_the_success_rate_is_of_runs_that_ended() -> None:
    assert Tally(started=9, failed=4, succeeded=3, dead=1).success_rate == 0.75
    assert Tally(started=9, failed=4).success_rate is None


def test_minutes_without_a_count_are_empty_ones() -> None:
    at = NOON.replace(second=0)
    minutes = [Minute(at - 3 * MINUTE, Tally(claimed=3)), Minute(at, Tally(claimed=7))]
    counted = Tallies(NOON, minutes, Tally(), None)
    assert [tally.claimed for tally in counted.each(4)] == [0, 3, 0, 0]
    assert counted.last(1).claimed == 7
    assert counted.last(10).claimed == 10
