"""Where dequeues begin in the queue of a pool."""

from __future__ import annotations

from uuid import UUID

from matins.domain.jobs.spec import PRIORITIES
from matins.domain.runs.ranking import HEAD_STARTS_S
from matins.store.fronts import LATE, SWEEP, DequeueResult, Front, Fronts

NOW = 1_000 * SWEEP
RUN = UUID(int=1)
WHOLE = 0


def swept(now: int = NOW) -> Front:
    """Return the front of a pool that was looked through just now, and is empty."""
    front = Front()
    front.note(front.begin(), DequeueResult(now, 0, None))
    return front


def test_the_first_take_begins_at_the_very_first_rank() -> None:
    assert Front().begin() == WHOLE


def test_after_an_empty_take_the_next_begins_shortly_before_it() -> None:
    assert swept().begin() == NOW - LATE


def test_the_next_begins_shortly_before_what_was_found() -> None:
    front = swept()
    first, now = NOW + 20 * LATE, NOW + 30 * LATE
    front._sweep_at = now + 1
    front.note(front.begin(), DequeueResult(now, 2, first))
    assert front.begin() == first - LATE


def test_what_is_ranked_by_now_is_found_though_the_rest_is_ranked_later() -> None:
    front = swept()
    front.note(front.begin(), DequeueResult(NOW + 1, 2, NOW + 50 * LATE))
    assert front.begin() == NOW + 1 - LATE


def test_what_has_a_head_start_is_found_beside_what_was_found() -> None:
    front = swept()
    front.note(front.begin(), DequeueResult(NOW + 1, 2, NOW))
    assert front.begin() < NOW - HEAD_STARTS_S[PRIORITIES["high"]] * 1_000_000


def test_a_pool_is_looked_through_again_and_again() -> None:
    front = swept()
    front.note(front.begin(), DequeueResult(NOW + SWEEP, 0, None))
    assert front.begin() == WHOLE
    front.note(WHOLE, DequeueResult(NOW + SWEEP + 1, 0, None))
    assert front.begin() == NOW + SWEEP + 1 - LATE


def test_of_what_was_put_back_long_after_its_rank_all_is_taken_and_not_one_poll_a_sweep() -> None:
    front, old = swept(), NOW - 9 * LATE
    front.note(front.begin(), DequeueResult(NOW + SWEEP, 0, None))
    front.note(WHOLE, DequeueResult(NOW + SWEEP + 1, 9, old))
    assert front.begin() == old
    front.note(old, DequeueResult(NOW + SWEEP + 2, 0, None))
    assert front.begin() == NOW + SWEEP + 2 - LATE


def test_what_is_locked_is_passed_over_for_as_long_as_a_sweep() -> None:
    front = swept()
    front.block([RUN])
    for now in (NOW + 1, NOW + SWEEP):
        front.note(front.begin(), DequeueResult(now, 0, None))
        assert front.passed == [RUN]
    front.note(front.begin(), DequeueResult(NOW + 1 + SWEEP, 0, None))
    assert front.passed == []


def test_what_is_locked_is_not_passed_over_for_longer_when_the_clock_goes_back() -> None:
    front = swept()
    front.block([RUN])
    back = NOW - 2 * LATE
    for now in (NOW + 1, back, back + SWEEP):
        front.note(front.begin(), DequeueResult(now, 0, None))
    assert front.passed == []


def test_a_clock_that_went_back_has_the_pool_looked_through() -> None:
    front = swept()
    front.note(front.begin(), DequeueResult(NOW - 2 * LATE, 0, None))
    assert front.begin() == WHOLE
    front.note(WHOLE, DequeueResult(NOW - 2 * LATE + 1, 0, None))
    assert front.begin() == NOW - 3 * LATE + 1


def test_a_take_from_before_the_clock_went_back_moves_nothing_on() -> None:
    front = swept()
    begun = front.begin()
    front.note(begun, DequeueResult(NOW - 2 * LATE, 0, None))
    front.note(begun, DequeueResult(NOW - 2 * LATE, 0, None))
    assert front._rank == WHOLE


def test_takes_side_by_side_may_be_told_of_in_any_order() -> None:
    front = swept()
    begun = front.begin()
    front.note(begun, DequeueResult(NOW + 9, 0, None))
    front.note(begun, DequeueResult(NOW + 5, 0, None))
    assert front.begin() == NOW + 9 - LATE


def test_each_pool_has_a_front_of_its_own() -> None:
    fronts = Fronts()
    front = fronts.of("one")
    front.note(front.begin(), DequeueResult(NOW, 0, None))
    assert fronts.of("one").begin() != WHOLE
    assert fronts.of("two").begin() == WHOLE
