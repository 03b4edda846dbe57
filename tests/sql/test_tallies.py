"""Tallies: what processes have counted adds up, minute by minute."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from matins.domain.runs.states import Outcome, RunState
from matins.domain.status.tallies import KEPT, LAG_BOUNDS_S, Tally
from matins.kernel import metrics
from matins.kernel.clock import HostClock
from matins.status.tallying import Tallying
from matins.store.database import Database
from matins.store.tallies import PostgresTallies

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
CLASSES = len(LAG_BOUNDS_S) + 1


class Hands:
    """What the database's clock shows."""

    at = NOON


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
async def tallies(dsn: str, hands: Hands) -> AsyncIterator[PostgresTallies]:
    database = Database(dsn, name="tallies", size=4, now=lambda: hands.at)
    yield PostgresTallies(database)
    await database.close()


async def test_what_several_processes_tell_at_once_is_added(tallies: PostgresTallies) -> None:
    tally = Tally(1, 2, 3, 4, 5, 6, 7, tuple(range(CLASSES)))
    await asyncio.gather(*(tallies.add(tally) for _ in range(10)))
    counted = await tallies.read()
    [minute] = counted.minutes
    assert minute.at == counted.since == NOON
    assert minute.tally == counted.today
    assert minute.tally == Tally(10, 20, 30, 40, 50, 60, 70, tuple(range(0, 10 * CLASSES, 10)))


async def test_the_hour_is_told_by_minutes_and_the_day_as_a_whole(
    tallies: PostgresTallies, hands: Hands
) -> None:
    for at in (NOON - timedelta(hours=13), NOON - timedelta(hours=2), NOON - MINUTE, NOON):
        hands.at = at
        await tallies.add(Tally(claimed=1))
    counted = await tallies.read()
    assert [minute.at for minute in counted.minutes] == [NOON - MINUTE, NOON]
    assert counted.today == Tally(claimed=3)
    assert counted.since == NOON - timedelta(hours=13)


async def test_what_is_older_than_it_is_kept_goes(tallies: PostgresTallies, hands: Hands) -> None:
    hands.at = NOON - KEPT - MINUTE
    await tallies.add(Tally(claimed=1))
    hands.at = NOON
    await tallies.add(Tally(claimed=1))
    assert (await tallies.read()).since == NOON


async def test_nothing_is_known_where_nothing_was_told(tallies: PostgresTallies) -> None:
    counted = await tallies.read()
    assert (counted.minutes, counted.today, counted.since) == ([], Tally(), None)


async def test_lags_of_a_version_with_other_classes_are_added(tallies: PostgresTallies) -> None:
    await tallies.add(Tally(lags=(1,)))
    await tallies.add(Tally(lags=(1,) * CLASSES))
    assert (await tallies.read()).today.lags == (2, *(1 for _ in range(CLASSES - 1)))


async def test_a_process_tells_what_its_metrics_rose_by_and_nothing_twice(
    tallies: PostgresTallies,
) -> None:
    metrics.HANDED_OUT.inc(99)
    tallying = Tallying(tallies, HostClock())
    metrics.CLAIMED.labels(RunState.QUEUED).inc(3)
    metrics.CLAIMED.labels(RunState.SKIPPED).inc(2)
    metrics.SKIPPED.labels("misfire").inc(40)
    metrics.SKIPPED.labels("overlap").inc(2)
    metrics.HANDED_OUT.inc(5)
    metrics.RECORDED.labels(Outcome.SUCCEEDED).inc(3)
    metrics.RECORDED.labels(Outcome.FAILED).inc(2)
    metrics.RECORDED.labels(Outcome.CANCELLED).inc(1)
    metrics.RUNS_DEAD.inc(1)
    metrics.START_LAG.observe([0.004, 61.0])
    for _ in range(2):
        await tallying.tell()
    today = (await tallies.read()).today
    assert today.plus(Tally(lags=today.lags), -1) == Tally(3, 42, 40, 5, 3, 2, 1)
    assert (today.lags[0], today.late, sum(today.lags)) == (1, 1, 2)


async def test_what_is_left_is_told_when_a_process_stops(tallies: PostgresTallies) -> None:
    tallying = Tallying(tallies, HostClock())
    running = asyncio.create_task(tallying.run())
    metrics.RUNS_DEAD.inc(2)
    await tallying.stop()
    await running
    assert (await tallies.read()).today.dead == 2
