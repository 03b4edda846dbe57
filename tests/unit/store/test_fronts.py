"""Where dequeues begin in the queue of a pool."""

from __future__ import annotations

from uuid import UUID

from matins.store.fronts import LATE, SWEEP, DequeueResult, Front, Fronts

NOW = 1_000 * SWEEP
FREE = 10
RUN = UUID(int=1)
NOTHING = (None, None, None)
WHOLE = [0, 0, 0]


def swept(now: int = NOW) -> Front:
    """Return the front of a pool that was looked through just now, and is empty."""
    front = Front()
    front.note(front.begin(), FREE, DequeueResult(now, 0, NOTHING))
    return front


def test_the_first_take_begins_at_the_very_first_rank() -> None:
    assert Front().begin() == WHOLE


def test_after_an_empty_take_the_next_begins_shortly_before_it() -> None:
    assert swept().begin() == [NOW - LATE] * 3


def test_a_take_that_got_all_that_it_wanted_tells_of_the_classes_that_it_looked_at() -> None:
    front = swept()
    first, now = NOW + 20 * LATE, NOW + 30 * LATE
    front._sweep_at = now + 1
    front.note(front.begin(), FREE, DequeueResult(now, FREE, (None, first, None)))
    assert front.begin() == [now - LATE, first - LATE, NOW - LATE]


def test_a_take_that_got_less_tells_of_all_classes() -> None:
    front = swept()
    front.note(front.begin(), FREE, DequeueResult(NOW + 1, 2, (None, NOW - LATE // 2, None)))
    assert front.begin() == [NOW + 1 - LATE, NOW - LATE, NOW + 1 - LATE]


def test_a_pool_is_looked_through_again_and_again() -> None:
    front = swept()
    front.note(front.begin(), FREE, DequeueResult(NOW + SWEEP, 0, NOTHING))
    assert front.begin() == WHOLE
    front.note(WHOLE, FREE, DequeueResult(NOW + SWEEP + 1, 0, NOTHING))
    assert front.begin() == [NOW + SWEEP + 1 - LATE] * 3


def test_what_is_locked_is_passed_over_for_as_long_as_a_sweep() -> None:
    front = swept()
    front.block([RUN])
    for now in (NOW + 1, NOW + SWEEP):
        front.note(front.begin(), FREE, DequeueResult(now, 0, NOTHING))
        assert front.passed == [RUN]
    front.note(front.begin(), FREE, DequeueResult(NOW + 1 + SWEEP, 0, NOTHING))
    assert front.passed == []


def test_what_is_locked_is_not_passed_over_for_longer_when_the_clock_goes_back() -> None:
    front = swept()
    front.block([RUN])
    back = NOW - 2 * LATE
    for now in (NOW + 1, back, back + SWEEP):
        front.note(front.begin(), FREE, DequeueResult(now, 0, NOTHING))
    assert front.passed == []


def test_a_clock_that_went_back_has_the_pool_looked_through() -> None:
    front = swept()
    front.note(front.begin(), FREE, DequeueResult(NOW - 2 * LATE, 0, NOTHING))
    assert front.begin() == WHOLE
    front.note(WHOLE, FREE, DequeueResult(NOW - 2 * LATE + 1, 0, NOTHING))
    assert front.begin() == [NOW - 3 * LATE + 1] * 3


def test_a_take_from_before_the_clock_went_back_moves_nothing_on() -> None:
    front = swept()
    begun = front.begin()
    front.note(begun, FREE, DequeueResult(NOW - 2 * LATE, 0, NOTHING))
    front.note(begun, FREE, DequeueResult(NOW - 2 * LATE, 0, NOTHING))
    assert front._ranks == WHOLE


def test_takes_side_by_side_may_be_told_of_in_any_order() -> None:
    front = swept()
    begun = front.begin()
    front.note(begun, FREE, DequeueResult(NOW + 9, 0, NOTHING))
    front.note(begun, FREE, DequeueResult(NOW + 5, 0, NOTHING))
    assert front.begin() == [NOW + 9 - LATE] * 3


def test_each_pool_has_a_front_of_its_own() -> None:
    fronts = Fronts()
    one = fronts.of("one")
    one.note(one.begin(), FREE, DequeueResult(NOW, 0, NOTHING))
    assert fronts.of("one").begin() != WHOLE
    assert fronts.of("two").begin() == WHOLE
