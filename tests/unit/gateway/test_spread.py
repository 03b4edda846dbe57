"""How a burst is spread over executors by their free slots."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from matins.gateway.spread import fair_share

SLOTS = st.integers(1, 200)


def test_two_that_are_idle_get_half_each() -> None:
    assert fair_share(32, [32], 32) == 16


def test_one_that_is_busy_gets_what_the_other_can_do_without() -> None:
    assert (fair_share(16, [32], 16), fair_share(32, [16], 16)) == (1, 16)


def test_one_alone_gets_all() -> None:
    assert fair_share(32, [], 5) == 32 or fair_share(32, [], 5) >= 5


@given(SLOTS, st.lists(SLOTS, max_size=8), st.integers(1, 2_000))
def test_shares_are_within_what_is_free_and_add_up(
    free: int, others: list[int], depth: int
) -> None:
    every = [free, *others]
    shares = [
        fair_share(slots, [*every[:place], *every[place + 1 :]], depth)
        for place, slots in enumerate(every)
    ]
    assert all(1 <= share <= slots for share, slots in zip(shares, every, strict=True))
    assert sum(shares) >= min(depth, sum(every))
    assert sum(shares) <= depth + 2 * len(every) or depth >= sum(every)
    left = [slots - share for slots, share in zip(every, shares, strict=True) if share > 1]
    assert not left or max(left) - min(left) <= 1
