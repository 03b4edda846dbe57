"""How silence is judged, and how partitions are shared."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from matins.domain.executors.liveness import ExecutorSeen, Silence, company, listen, lost
from matins.domain.executors.protocol import Running
from matins.domain.jobs.retry import RetryPolicy
from matins.domain.runs.placement import fair_share, to_acquire, to_shed
from matins.domain.runs.states import Tried
from matins.domain.values.ids import PARTITIONS

AT = datetime(2026, 11, 29, tzinfo=UTC)


def seen(number: int, heartbeat_at: datetime = AT) -> ExecutorSeen:
    return ExecutorSeen(UUID(int=number), f"e{number}", heartbeat_at)


def test_silence_adds_up_while_the_heartbeat_stays_the_same() -> None:
    heard: dict[UUID, Silence] = {}
    for _ in range(4):
        heard = listen(heard, [seen(1)], 2.0)
    assert heard[UUID(int=1)].silent_s == 6.0


def test_a_new_heartbeat_ends_the_silence() -> None:
    heard = listen(listen({}, [seen(1)], 2.0), [seen(1)], 2.0)
    heard = listen(heard, [seen(1, AT + timedelta(seconds=1))], 2.0)
    assert heard[UUID(int=1)].silent_s == 0


def test_who_is_no_longer_seen_is_forgotten() -> None:
    assert listen(listen({}, [seen(1)], 2.0), [], 2.0) == {}


def test_a_watcher_that_slept_has_heard_no_silence() -> None:
    heard = listen({}, [seen(1)], 0.0)
    assert lost(listen(heard, [seen(1)], 0.0), 5.0) == ([], False)


def test_who_was_silent_for_the_bound_is_lost() -> None:
    heard = {UUID(int=1): Silence(AT, 5.0), UUID(int=2): Silence(AT, 4.9)}
    assert lost(heard, 5.0) == ([UUID(int=1)], False)


def held(number: int, shared_losses: int = 0) -> Running:
    return Running(UUID(int=number), Tried(1, shared_losses=shared_losses), RetryPolicy())


def test_all_that_an_executor_held_share_the_blame_for_its_death() -> None:
    runs = [held(1), held(2), held(3, shared_losses=2)]
    assert [company(run, runs) for run in runs] == [2, 2, 0]
    assert company(held(1), [held(1)]) == 0


def test_two_suspects_on_one_executor_share_the_blame() -> None:
    runs = [held(1, shared_losses=2), held(2, shared_losses=3), held(3)]
    assert [company(run, runs) for run in runs] == [1, 1, 2]


def test_a_run_that_was_handed_out_twice_is_no_company_of_its_own() -> None:
    assert company(held(1), [held(1), held(1)]) == 0


def test_when_most_of_many_are_silent_the_bound_counts_double() -> None:
    heard = {UUID(int=n): Silence(AT, 6.0) for n in range(3)} | {UUID(int=9): Silence(AT)}
    assert lost(heard, 5.0) == ([], True)
    later = {name: Silence(AT, silence.silent_s + 4) for name, silence in heard.items()}
    assert lost(later, 5.0) == ([UUID(int=n) for n in range(3)], True)


@pytest.mark.parametrize(
    ("silent", "of", "is_guarding"), [(2, 4, False), (3, 4, True), (3, 3, False)]
)
def test_the_mass_loss_guard_is_up_when_more_than_half_of_at_least_four_are_silent(
    silent: int, of: int, is_guarding: bool
) -> None:
    heard = {UUID(int=n): Silence(AT, 6.0 if n < silent else 0.0) for n in range(of)}
    assert lost(heard, 5.0)[1] is is_guarding


def test_one_executor_alone_has_no_mass_loss_guard() -> None:
    assert lost({UUID(int=1): Silence(AT, 5.0)}, 5.0) == ([UUID(int=1)], False)


@pytest.mark.parametrize("alive", range(1, 300))
def test_shares_are_fair_and_cover_all(alive: int) -> None:
    assert alive * fair_share(alive) >= PARTITIONS
    assert (alive - 1) * fair_share(alive) < PARTITIONS + alive


def test_an_extra_is_shed_and_a_gap_is_filled() -> None:
    assert to_shed(list(range(200)), 2) == list(range(128, 200))
    assert to_acquire(100, 2) == 28
    assert to_acquire(200, 2) == 0
    assert to_shed(list(range(100)), 2) == []
