"""When the watch looks, and what it says while it can't see."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from math import isnan

import pytest
from prometheus_client import REGISTRY
from tests.unit.status.test_judging import WELL

from matins.domain.status.facts import SystemFacts
from matins.domain.status.findings import FindingKind
from matins.domain.values.errors import UnavailableError
from matins.status.watch import StatusWatch

STARTED = datetime(2026, 12, 1, 12, tzinfo=UTC)


class Hands:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.at_s = 1000.0

    def now(self) -> datetime:
        return datetime(2020, 1, 1, tzinfo=UTC)  # the host's, far from the database's

    def elapsed_s(self) -> float:
        return self.at_s

    async def sleep(self, seconds: float) -> None:
        self.at_s += seconds
        await asyncio.sleep(0)


class Rows:
    """Rows in which all is well, of a database and a Valkey that can go away."""

    def __init__(self, hands: Hands) -> None:
        self.hands = hands
        self.error: Exception | None = None
        self.cache_error = ""
        self.looks = 0

    async def facts(self, late: timedelta) -> SystemFacts:
        self.looks += 1
        if self.error:
            raise self.error
        now = STARTED + timedelta(seconds=self.hands.at_s - 1000)
        return SystemFacts(now, 2, STARTED, now, has_due_jobs=True, pools=WELL.pools)

    async def fault(self) -> str:
        return self.cache_error


class Outputs:
    """A place of whole outputs that is away."""

    async def fault(self) -> str:
        return "NoSuchBucket"


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def rows(hands: Hands) -> Rows:
    return Rows(hands)


@pytest.fixture
def watch(rows: Rows, hands: Hands) -> StatusWatch:
    return StatusWatch(rows, rows, hands, every_s=5, report_after_s=20)


async def kinds(watch: StatusWatch) -> list[FindingKind]:
    return [finding.kind for finding in (await watch.status()).findings]


async def test_who_asks_between_two_looks_gets_the_last_one_and_all_ask_at_once(
    watch: StatusWatch, rows: Rows, hands: Hands
) -> None:
    answers = await asyncio.gather(*(watch.status() for _ in range(5)))
    assert rows.looks == 1
    assert all(answer is answers[0] for answer in answers)
    hands.at_s += 9
    await watch.status()
    assert rows.looks == 1
    hands.at_s += 1  # the loop that looks is held up, or was never begun
    await watch.status()
    assert rows.looks == 2


@pytest.mark.parametrize("error", [UnavailableError("refused"), RuntimeError("of ours")])
async def test_a_database_that_goes_away_is_told_after_a_while_since_it_was_last_seen(
    watch: StatusWatch, rows: Rows, hands: Hands, error: Exception
) -> None:
    assert (await watch.status()).is_well
    rows.error = error
    hands.at_s += 19
    assert await kinds(watch) == []
    assert isnan(figure("matins_overdue"))
    hands.at_s += 11
    status = await watch.status()
    [finding] = status.findings
    assert (finding.kind, finding.since) == (FindingKind.DATABASE, STARTED)
    assert str(error) in finding.what
    assert status.judged_at == STARTED + timedelta(seconds=30)
    rows.error = None
    hands.at_s += 10
    assert await kinds(watch) == []
    assert figure("matins_overdue") == 0


async def test_a_place_of_outputs_that_is_away_is_told(rows: Rows, hands: Hands) -> None:
    watch = StatusWatch(rows, rows, hands, every_s=5, report_after_s=20, outputs=Outputs())
    assert await kinds(watch) == []
    hands.at_s += 20
    assert await kinds(watch) == [FindingKind.OUTPUT]
    assert figure("matins_findings", kind="output") == 1


async def test_a_valkey_that_goes_away_is_told_and_forgotten_when_it_is_back(
    watch: StatusWatch, rows: Rows, hands: Hands
) -> None:
    rows.cache_error = "refused"
    assert await kinds(watch) == []
    hands.at_s += 20
    assert await kinds(watch) == [FindingKind.CACHE]
    assert figure("matins_findings", kind="cache") == 1
    assert figure("matins_well") == 0
    rows.cache_error = ""
    hands.at_s += 10
    assert await kinds(watch) == []
    rows.cache_error = "refused"
    hands.at_s += 10
    assert await kinds(watch) == []


async def test_it_looks_by_itself_until_it_is_stopped(watch: StatusWatch, rows: Rows) -> None:
    running = asyncio.create_task(watch.run())
    while rows.looks < 3:
        await asyncio.sleep(0)
    await watch.stop()
    await running
    assert rows.hands.at_s >= 1010


def figure(name: str, **labels: str) -> float:
    value = REGISTRY.get_sample_value(name, labels)
    assert value is not None
    return value
