"""Replays keep to their rate, whoever works them off and whenever."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.domain.jobs.limits import parse_rate
from matins.domain.runs.replays import STEP_MAX, OpenReplay, ReplayDead, step

START = datetime(2026, 11, 30, tzinfo=UTC)
SECOND = timedelta(seconds=1)
RATES = st.sampled_from(["1/s", "7/s", "1000/s", "100000/s", "90/m", "20/h", "1/d"])
LOOKS = st.lists(st.floats(0, 30), min_size=1, max_size=60)
"""After how many seconds somebody looks again."""


def opened(rate: str) -> OpenReplay:
    """Return a replay that begins now: its first run is due at once."""
    return OpenReplay(UUID(int=1), rate, None, START - parse_rate(rate).spacing, 0, START)


def played(rate: str, looks: list[float], stock: int = 10**9) -> list[tuple[datetime, int]]:
    """Return when how many runs were replayed, if so many letters are there."""
    replay, done, taken = opened(rate), [], 0
    for wait in looks:
        found = [UUID(int=taken + number + 1) for number in range(min(replay.due, stock - taken))]
        after = step(replay, found, replay.due)
        done.append((replay.now, len(found)))
        taken += len(found)
        replay = msgspec.structs.replace(
            replay, mark=after.mark, paced_at=after.paced_at, now=replay.now + wait * SECOND
        )
    return done


@given(RATES, LOOKS)
def test_in_no_time_more_are_replayed_than_its_rate_and_a_burst(
    rate: str, looks: list[float]
) -> None:
    done = played(rate, looks)
    spacing = parse_rate(rate).spacing
    for first in range(len(done)):
        count = 0
        for now, more in done[first:]:
            count += more
            span = now - done[first][0] + max(SECOND, spacing)
            assert count <= span / spacing + 1


@given(st.sampled_from(["1/s", "7/s", "300/s"]), st.integers(20, 200))
def test_who_looks_often_reaches_the_rate(rate: str, looks: int) -> None:
    count = sum(more for _, more in played(rate, [0.1] * looks))
    assert count >= (looks - 1) * 0.1 / parse_rate(rate).spacing.total_seconds() - 1


@given(RATES)
def test_the_first_run_is_due_at_once(rate: str) -> None:
    assert opened(rate).due >= 1


@given(RATES, LOOKS)
def test_a_step_is_bounded(rate: str, looks: list[float]) -> None:
    assert all(0 <= count <= STEP_MAX for _, count in played(rate, looks))


def test_it_ends_when_fewer_letters_are_found_than_asked_for() -> None:
    replay = opened("5/s")
    assert step(replay, [UUID(int=1)], 2).is_last
    assert not step(replay, [UUID(int=1), UUID(int=2)], 2).is_last


def test_a_clock_that_was_put_back_holds_it_up_and_breaks_nothing() -> None:
    replay = msgspec.structs.replace(opened("5/s"), now=START - timedelta(hours=1))
    assert replay.due == 0


@pytest.mark.parametrize(
    ("wanted", "places"),
    [
        (ReplayDead(everything=True, rate="5/s"), []),
        (ReplayDead(everything=True, rate="fast"), ["rate"]),
        (ReplayDead(rate="5/s"), [""]),
    ],
)
def test_a_request_says_what_and_how_fast(wanted: ReplayDead, places: list[str]) -> None:
    assert [problem.where for problem in wanted.problems()] == places
