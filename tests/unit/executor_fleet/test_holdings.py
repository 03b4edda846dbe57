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


def picture(in_flight: InFlight) -> Heartbeat:
    return in_flight.picture(E, "e", ["default"], 1)


def test_a_poll_that_was_sent_is_awaiting() -> None:
    in_flight = InFlight()
    assert [in_flight.ask(), in_flight.ask()] == [1, 2]
    heartbeat = picture(in_flight)
    assert (heartbeat.next_seq, heartbeat.awaiting, heartbeat.open, heartbeat.closed) == (
        3,
        [1, 2],
        [],
        [],
    )


def test_an_answer_with_attempts_opens_its_poll_and_they_are_held() -> None:
    in_flight = InFlight()
    fresh = in_flight.arrive(in_flight.ask(), [attempt(1), attempt(2)])
    assert fresh == [attempt(1), attempt(2)]
    heartbeat = picture(in_flight)
    assert (heartbeat.awaiting, heartbeat.open, heartbeat.closed) == ([], [1], [])
    assert heartbeat.held == [name(1), name(2)]


def test_a_poll_closes_with_its_last_attempt_and_is_forgotten_once_a_heartbeat_said_so() -> None:
    in_flight = InFlight()
    in_flight.arrive(in_flight.ask(), [attempt(1), attempt(2)])
    in_flight.evict([name(1)])
    assert picture(in_flight).open == [1]
    in_flight.evict([name(2)])
    heartbeat = picture(in_flight)
    assert (heartbeat.open, heartbeat.closed, heartbeat.held) == ([], [1], [])
    assert picture(in_flight).closed == [1]
    in_flight.heard(heartbeat)
    assert picture(in_flight).closed == []


def test_a_poll_that_closes_while_a_heartbeat_is_under_way_stays_for_the_next() -> None:
    in_flight = InFlight()
    in_flight.arrive(in_flight.ask(), [attempt(1)])
    heartbeat = picture(in_flight)
    in_flight.evict([name(1)])
    in_flight.heard(heartbeat)
    assert picture(in_flight).closed == [1]


def test_a_poll_without_attempts_is_nowhere() -> None:
    """So what a duplicate of it may yet take goes back on the queue, at whichever heartbeat."""
    in_flight = InFlight()
    in_flight.arrive(in_flight.ask(), [])
    heartbeat = picture(in_flight)
    assert (heartbeat.next_seq, heartbeat.awaiting, heartbeat.open, heartbeat.closed) == (
        2,
        [],
        [],
        [],
    )


def test_a_poll_that_was_given_up_is_nowhere() -> None:
    in_flight = InFlight()
    in_flight.give_up(in_flight.ask())
    heartbeat = picture(in_flight)
    assert (heartbeat.next_seq, heartbeat.awaiting) == (2, [])


def test_an_attempt_that_is_held_already_is_not_started_again() -> None:
    in_flight = InFlight()
    first, second = in_flight.ask(), in_flight.ask()
    in_flight.arrive(first, [attempt(1)])
    assert in_flight.arrive(second, [attempt(1), attempt(2)]) == [attempt(2)]
    in_flight.evict([name(1), name(2)])
    assert picture(in_flight).closed == [first, second]


def test_a_poll_is_answered_once() -> None:
    in_flight = InFlight()
    seq = in_flight.ask()
    in_flight.arrive(seq, [])
    with pytest.raises(AssertionError):
        in_flight.arrive(seq, [attempt(1)])


@given(st.lists(st.sampled_from(["ask", "arrive", "empty", "give up", "end", "heartbeat"])))
def test_each_poll_is_in_one_place_and_never_goes_back(steps: list[str]) -> None:
    in_flight = InFlight()
    order = {"awaiting": 0, "open": 1, "closed": 2, "nowhere": 3}
    reached: dict[int, int] = {}
    made = 0
    for step in steps:
        heartbeat = picture(in_flight)
        match step:
            case "ask":
                in_flight.ask()
            case "arrive" | "empty" if heartbeat.awaiting:
                made += 1
                in_flight.arrive(heartbeat.awaiting[0], [attempt(made)] if step == "arrive" else [])
            case "give up" if heartbeat.awaiting:
                in_flight.give_up(heartbeat.awaiting[0])
            case "end" if heartbeat.held:
                in_flight.evict(heartbeat.held[:1])
            case "heartbeat":
                in_flight.heard(heartbeat)
        now = picture(in_flight)
        for seq in range(1, now.next_seq):
            places = [key for key in ("awaiting", "open", "closed") if seq in getattr(now, key)]
            assert len(places) <= 1
            place = order[places[0] if places else "nowhere"]
            assert place >= reached.get(seq, 0)
            reached[seq] = place
        assert len(now.held) == len(in_flight) >= len(now.open)
