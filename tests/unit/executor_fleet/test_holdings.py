"""The bookkeeping behind a heartbeat: which polls are where, and which attempts are held."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.domain.executors.protocol import Heartbeat
from matins.domain.jobs.targets import Target
from matins.domain.runs.attempts import Attempt
from matins.executor.in_flight import InFlight

E = UUID(int=1)
DUE = datetime(2026, 1, 1, tzinfo=UTC)


def attempt(number: int) -> Attempt:
    return Attempt(UUID(int=number), 1, DUE, "t", "j", Target(), 1.0)


def name(number: int) -> tuple[UUID, int]:
    return UUID(int=number), 1


def picture(holdings: InFlight) -> Heartbeat:
    return holdings.picture(E, "e", ["default"], 1)


def test_a_poll_that_was_sent_is_awaiting() -> None:
    holdings = InFlight()
    assert [holdings.ask(), holdings.ask()] == [1, 2]
    heartbeat = picture(holdings)
    assert (heartbeat.next_seq, heartbeat.awaiting, heartbeat.open, heartbeat.closed) == (
        3,
        [1, 2],
        [],
        [],
    )


def test_an_answer_with_attempts_opens_its_poll_and_they_are_held() -> None:
    holdings = InFlight()
    fresh = holdings.arrive(holdings.ask(), [attempt(1), attempt(2)])
    assert fresh == [attempt(1), attempt(2)]
    heartbeat = picture(holdings)
    assert (heartbeat.awaiting, heartbeat.open, heartbeat.closed) == ([], [1], [])
    assert heartbeat.held == [name(1), name(2)]


def test_a_poll_closes_with_its_last_attempt_and_is_forgotten_once_a_heartbeat_said_so() -> None:
    holdings = InFlight()
    holdings.arrive(holdings.ask(), [attempt(1), attempt(2)])
    holdings.let_go([name(1)])
    assert picture(holdings).open == [1]
    holdings.let_go([name(2)])
    heartbeat = picture(holdings)
    assert (heartbeat.open, heartbeat.closed, heartbeat.held) == ([], [1], [])
    assert picture(holdings).closed == [1]
    holdings.heard(heartbeat)
    assert picture(holdings).closed == []


def test_a_poll_that_closes_while_a_heartbeat_is_under_way_stays_for_the_next() -> None:
    holdings = InFlight()
    holdings.arrive(holdings.ask(), [attempt(1)])
    heartbeat = picture(holdings)
    holdings.let_go([name(1)])
    holdings.heard(heartbeat)
    assert picture(holdings).closed == [1]


def test_a_poll_without_attempts_is_nowhere() -> None:
    """So what a duplicate of it may yet take goes back on the queue, at whichever heartbeat."""
    holdings = InFlight()
    holdings.arrive(holdings.ask(), [])
    heartbeat = picture(holdings)
    assert (heartbeat.next_seq, heartbeat.awaiting, heartbeat.open, heartbeat.closed) == (
        2,
        [],
        [],
        [],
    )


def test_a_poll_that_was_given_up_is_nowhere() -> None:
    holdings = InFlight()
    holdings.give_up(holdings.ask())
    heartbeat = picture(holdings)
    assert (heartbeat.next_seq, heartbeat.awaiting) == (2, [])


def test_an_attempt_that_is_held_already_is_not_started_again() -> None:
    holdings = InFlight()
    first, second = holdings.ask(), holdings.ask()
    holdings.arrive(first, [attempt(1)])
    assert holdings.arrive(second, [attempt(1), attempt(2)]) == [attempt(2)]
    holdings.let_go([name(1), name(2)])
    assert picture(holdings).closed == [first, second]


def test_a_poll_is_answered_once() -> None:
    holdings = InFlight()
    seq = holdings.ask()
    holdings.arrive(seq, [])
    with pytest.raises(AssertionError):
        holdings.arrive(seq, [attempt(1)])


@given(st.lists(st.sampled_from(["ask", "arrive", "empty", "give up", "end", "heartbeat"])))
def test_each_poll_is_in_one_place_and_never_goes_back(steps: list[str]) -> None:
    holdings = InFlight()
    order = {"awaiting": 0, "open": 1, "closed": 2, "nowhere": 3}
    reached: dict[int, int] = {}
    made = 0
    for step in steps:
        heartbeat = picture(holdings)
        match step:
            case "ask":
                holdings.ask()
            case "arrive" | "empty" if heartbeat.awaiting:
                made += 1
                holdings.arrive(heartbeat.awaiting[0], [attempt(made)] if step == "arrive" else [])
            case "give up" if heartbeat.awaiting:
                holdings.give_up(heartbeat.awaiting[0])
            case "end" if heartbeat.held:
                holdings.let_go(heartbeat.held[:1])
            case "heartbeat":
                holdings.heard(heartbeat)
        now = picture(holdings)
        for seq in range(1, now.next_seq):
            places = [key for key in ("awaiting", "open", "closed") if seq in getattr(now, key)]
            assert len(places) <= 1
            place = order[places[0] if places else "nowhere"]
            assert place >= reached.get(seq, 0)
            reached[seq] = place
        assert len(now.held) == len(holdings) >= len(now.open)
