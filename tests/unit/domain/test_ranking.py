"""Ranks: how teams share a pool, and what priorities are worth."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.domain.jobs.spec import PRIORITIES
from matins.domain.runs.ranking import (
    GAP_S,
    HEAD_STARTS_S,
    PoolSeen,
    QueuesSeen,
    Started,
    VirtualClocks,
    noted,
    rank_at,
    rank_of,
)

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
NOW = rank_of(NOON)
SECOND = 1_000_000
HIGH, NORMAL, LOW = (PRIORITIES[name] for name in ("high", "normal", "low"))
LARGE, SMALL = 1, 2


def clocks(
    gap_s: float = 0.01, *, reached: int | None = None, weights: dict[int, int] | None = None
) -> VirtualClocks:
    """Return the clocks of a scheduler that holds all partitions."""
    made = VirtualClocks()
    made.look(QueuesSeen({"pool": PoolSeen(gap_s, reached)}, weights or {}), 1.0, NOON)
    return made


def burst(
    of: VirtualClocks, team: int, count: int, at: int = NOW, priority: int = NORMAL
) -> list[int]:
    """Return the ranks of so many runs of a team that come at once."""
    return [of.rank("pool", team, priority, at) for _ in range(count)]


def test_a_run_that_comes_alone_is_ranked_by_now() -> None:
    [rank] = burst(clocks(), SMALL, 1)
    assert NOW < rank <= NOW + SECOND // 100 + 1


def test_a_few_runs_of_a_small_team_pass_the_burst_of_a_large_one() -> None:
    of = clocks()
    large = burst(of, LARGE, 100_000)
    small = burst(of, SMALL, 10, NOW + SECOND)
    before = sum(rank < max(small) for rank in large)
    assert before <= 100 + 2 * len(small)  # what the pool starts in that second, and turn by turn


def test_a_burst_of_other_teams_is_no_matter_where_the_queue_has_fallen_behind() -> None:
    of = clocks(reached=NOW - 500 * SECOND)
    others = [rank for team in range(10, 20) for rank in burst(of, team, 100, NOW - 500 * SECOND)]
    [small] = burst(of, SMALL, 1)
    assert sum(rank < small for rank in others) < 40


@given(
    weights=st.lists(st.integers(1, 20), min_size=2, max_size=4),
    count=st.integers(200, 600),
)
def test_shares_follow_the_weights(weights: list[int], count: int) -> None:
    teams = dict(enumerate(weights, 1))
    of = clocks(weights={team: weight for team, weight in teams.items() if weight != 1})
    ranked = [(of.rank("pool", team, NORMAL, NOW), team) for _ in range(count) for team in teams]
    first = Counter(team for _, team in sorted(ranked)[: count // max(weights) * sum(weights) // 2])
    for team, weight in teams.items():
        assert first[team] == pytest.approx(
            sum(first.values()) * weight / sum(weights), rel=0.1, abs=len(teams) + 1
        )


@given(
    st.lists(
        st.tuples(
            st.integers(1, 3), st.sampled_from((HIGH, NORMAL, LOW)), st.integers(0, 3 * SECOND)
        ),
        max_size=60,
    )
)
def test_the_runs_of_a_team_keep_their_order(steps: list[tuple[int, int, int]]) -> None:
    of, at = clocks(), NOW
    ranks: dict[tuple[int, int], list[int]] = {}
    for team, priority, later in steps:
        at += later
        ranks.setdefault((team, priority), []).append(of.rank("pool", team, priority, at))
    assert all(rank < other for made in ranks.values() for rank, other in pairwise(made))


@given(st.lists(st.integers(0, SECOND), min_size=1, max_size=200), st.integers(1, 50))
def test_nothing_starves_beside_a_stream_that_is_high(gaps: list[int], weight: int) -> None:
    of, at = clocks(0.001, weights={LARGE: weight}), NOW
    [low] = burst(of, SMALL, 1, priority=LOW)
    for gap in gaps:
        at += gap
        rank = of.rank("pool", LARGE, HIGH, at)
        assert rank > low or at < NOW + SECOND * (HEAD_STARTS_S[HIGH] - HEAD_STARTS_S[LOW]) + SECOND


def test_what_is_high_passes_the_burst_of_its_own_team_that_is_low() -> None:
    of = clocks()
    low = burst(of, LARGE, 100_000, priority=LOW)
    [high] = burst(of, LARGE, 1, NOW + SECOND, HIGH)
    assert high < min(low)


def test_a_team_has_no_larger_share_by_several_priorities() -> None:
    of = clocks()
    several = [
        rank
        for priority in (HIGH, NORMAL, LOW)
        for rank in burst(of, LARGE, 100, priority=priority)
    ]
    whole = burst(of, SMALL, 300)
    # All of both are there at once: the last of either comes at about the same time, but for the
    # head start of what is low.
    assert max(several) + HEAD_STARTS_S[LOW] * SECOND == pytest.approx(max(whole), abs=6 * SECOND)


def test_two_schedulers_keep_half_of_a_clock_each() -> None:
    half, whole = VirtualClocks(), VirtualClocks()
    seen = QueuesSeen({"pool": PoolSeen(0.01)})
    half.look(seen, 0.5, NOON)
    whole.look(seen, 1.0, NOON)
    assert burst(half, LARGE, 500)[-1] == pytest.approx(burst(whole, LARGE, 1_000)[-1], abs=2_000)


def test_a_clock_is_forgotten_once_the_queue_was_empty() -> None:
    of = clocks()
    burst(of, LARGE, 100_000)
    later = NOON + timedelta(seconds=2)
    of.look(QueuesSeen({"pool": PoolSeen(0.01, emptied_at=later)}), 1.0, later)
    [rank] = burst(of, LARGE, 1, rank_of(later))
    assert rank <= rank_of(later) + SECOND


def test_a_clock_is_kept_while_runs_are_left() -> None:
    of = clocks()
    last = burst(of, LARGE, 100_000)[-1]
    of.look(QueuesSeen({"pool": PoolSeen(0.01, NOW)}), 1.0, NOON + timedelta(seconds=2))
    assert burst(of, LARGE, 1)[0] > last


def test_a_pool_that_was_never_measured_is_taken_to_be_slow() -> None:
    ranks = burst(VirtualClocks(), LARGE, 2)
    assert ranks[1] - ranks[0] == pytest.approx(GAP_S * SECOND, abs=2)


def test_what_was_started_while_runs_were_left_tells_the_pace() -> None:
    seen = PoolSeen(1.0)
    for _ in range(60):
        seen = noted(seen, Started("pool", 500, 1.0, False), since_s=1.0, first=NOW)
    assert seen.gap_s == pytest.approx(1 / 500, rel=0.01)


def test_a_pool_that_slows_down_is_noticed_within_ten_starts() -> None:
    seen = PoolSeen(0.001, NOW)
    for _ in range(10):
        seen = noted(seen, Started("pool", 1, 60.0, False), since_s=60.0, first=NOW)
    assert seen.gap_s > 30


def test_what_is_started_of_an_empty_queue_tells_a_bound_only() -> None:
    seen = noted(PoolSeen(0.01), Started("pool", 1, 60.0, True), since_s=60.0, first=None)
    assert seen.gap_s == 0.01
    seen = noted(seen, Started("pool", 1_000, 1.0, True), since_s=1.0, first=None)
    assert seen.gap_s == 0.001


def test_two_gateways_are_as_fast_as_both_together() -> None:
    seen = PoolSeen(1.0)
    for _ in range(100):
        seen = noted(seen, Started("pool", 100, 1.0, False), since_s=0.5, first=NOW)
    assert seen.gap_s == pytest.approx(1 / 200, rel=0.01)


def test_what_is_put_back_does_not_take_the_clock_back() -> None:
    seen = noted(PoolSeen(0.01, NOW), Started("pool", 1, 1.0, False), since_s=1.0, first=NOW - 9)
    assert seen.reached == NOW


def test_an_urgent_run_that_comes_by_itself_has_its_head_start() -> None:
    assert rank_at(NOON, HIGH) < rank_at(NOON, NORMAL) == NOW < rank_at(NOON, LOW)
