"""Which polls of an executor are looked at with its heartbeats."""

from __future__ import annotations

from uuid import UUID

from matins.domain.executors.protocol import Heartbeat
from matins.store.settled_polls import SWEEP, SettledPolls

EXECUTOR, OTHER = UUID(int=1), UUID(int=2)


def heartbeat(
    next_seq: int,
    *,
    awaiting: tuple[int, ...] = (),
    open: tuple[int, ...] = (),  # noqa: A002 # as the protocol has it
    closed: tuple[int, ...] = (),
    executor: UUID = EXECUTOR,
) -> Heartbeat:
    """Return a heartbeat that tells this of its polls."""
    return Heartbeat(
        executor, "e", ["default"], 9, next_seq, list(awaiting), list(open), list(closed)
    )


def heard(*heartbeats: Heartbeat) -> SettledPolls:
    """Return what is known after some heartbeats."""
    polls = SettledPolls()
    for heartbeat in heartbeats:
        polls.note(heartbeat)
    return polls


def looked_at(polls: SettledPolls, heartbeat: Heartbeat) -> set[int]:
    """Return the numbers that are looked at with a heartbeat."""
    return {seq for first, past in polls.unsettled(heartbeat) for seq in range(first, past)}


def test_all_polls_are_looked_at_with_the_first_heartbeat() -> None:
    assert looked_at(heard(heartbeat(9, executor=OTHER)), heartbeat(5)) == {0, 1, 2, 3, 4}


def test_of_later_heartbeats_only_the_polls_since_then_are_looked_at() -> None:
    assert looked_at(heard(heartbeat(5)), heartbeat(8)) == {0, 5, 6, 7}


def test_a_poll_that_was_awaited_or_open_and_no_longer_is_known_is_looked_at() -> None:
    polls = heard(heartbeat(9, awaiting=(3, 4), open=(5, 6)))
    assert looked_at(polls, heartbeat(9, awaiting=(3,), open=(5,), closed=())) == {0, 4, 6}
    assert looked_at(polls, heartbeat(9, awaiting=(3,), open=(4, 5), closed=(6,))) == {0}


def test_a_poll_that_is_open_for_long_has_no_younger_ones_looked_at_again() -> None:
    assert looked_at(heard(heartbeat(900, open=(1,))), heartbeat(901, open=(1,))) == {0, 900}


def test_now_and_then_all_polls_are_looked_at() -> None:
    polls = heard(*[heartbeat(5)] * SWEEP)
    assert looked_at(polls, heartbeat(5)) == {0, 1, 2, 3, 4}
    polls.note(heartbeat(5))
    assert looked_at(polls, heartbeat(5)) == {0}


def test_a_late_heartbeat_makes_nothing_settled_that_is_not() -> None:
    polls = heard(heartbeat(9), heartbeat(5, open=(4,)))
    assert looked_at(polls, heartbeat(9)) >= {4, 5, 6, 7, 8}
