"""Operators are told of a finding once, however many APIs see it, and never not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import asyncpg
import msgspec
import pytest

from matins.alerts.channels import UndeliveredError
from matins.alerts.operators import OperatorAlerts
from matins.domain.alerts.texts import Message
from matins.domain.status.findings import Finding, FindingKind, SystemStatus
from matins.domain.status.telling import LEASE, QUIET
from matins.kernel.clock import HostClock
from matins.store.database import Database
from matins.store.told_findings import PostgresToldFindings

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
FROZEN = Finding(FindingKind.SCHEDULERS, "failing", NOON, "no scheduler is alive", "start one")
NO_VALKEY = Finding(FindingKind.CACHE, "degraded", NOON, "Valkey can't be used", "start it")
WRONG, WELL = "Matins: something is wrong", "Matins: well again"
SECOND = timedelta(seconds=1)


class Api:
    """One that looks when it is told to, and finds what a test says."""

    def __init__(self, house: House, send: Callable[[Message], Awaitable[None]]) -> None:
        self._house = house
        self._send = send
        self.findings: list[Finding] = []
        self.judged_at: datetime | None = None
        """None: now."""
        self._alerts = OperatorAlerts(self, house.told, self._notify, HostClock())

    async def status(self) -> SystemStatus:
        at = self.judged_at or self._house.now
        return SystemStatus(at, not self.findings, list(self.findings))

    async def look(self, *findings: Finding) -> None:
        self.findings = list(findings)
        await self._alerts.tell()

    async def _notify(self, name: UUID, message: Message) -> None:
        del name
        await self._send(message)


class House:
    """A database with a clock, and what operators have got."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.now = NOON
        self.sent: list[str] = []
        self.texts: list[str] = []
        self.database = Database(dsn, name="told", size=4, now=lambda: self.now)
        self.told = PostgresToldFindings(self.database)

    def api(self, send: Callable[[Message], Awaitable[None]] | None = None) -> Api:
        return Api(self, send or self._arrive)

    def wait(self, length: timedelta = SECOND) -> None:
        self.now += length

    async def _arrive(self, message: Message) -> None:
        self.sent.append(message.title)
        self.texts.append(message.text)


@pytest.fixture
async def house(dsn: str) -> AsyncIterator[House]:
    house = House(dsn)
    yield house
    await house.database.close()


async def test_of_two_apis_one_tells_what_is_wrong_and_one_that_it_is_over(house: House) -> None:
    apis = [house.api() for _ in range(2)]
    for _ in range(3):
        await asyncio.gather(*(api.look(FROZEN) for api in apis))
        house.wait()
    assert house.sent == [WRONG]
    for _ in range(3):
        await asyncio.gather(*(api.look() for api in apis))
        house.wait(QUIET)
    assert house.sent == [WRONG, WELL]
    await asyncio.gather(*(api.look(FROZEN) for api in apis))
    assert house.sent == [WRONG, WELL, WRONG]


async def test_findings_are_told_once_whoever_sees_which_first(house: House) -> None:
    first, other = house.api(), house.api()
    await first.look(FROZEN)
    house.wait()
    await other.look(NO_VALKEY, FROZEN)
    house.wait()
    await first.look(NO_VALKEY, FROZEN)
    assert house.sent == [WRONG, WRONG]
    assert ["no scheduler" in text for text in house.texts] == [True, False]


async def test_what_comes_and_goes_within_the_quiet_has_not_changed(house: House) -> None:
    apis = [house.api() for _ in range(2)]
    for second in range(20):
        for api in apis:
            await api.look(*([FROZEN] if second % 3 == 0 else []))
        house.wait()
    house.wait(QUIET)
    for api in apis:
        await api.look()
    assert house.sent == [WRONG, WELL]


async def test_what_one_dies_of_telling_another_tells_after_the_lease(house: House) -> None:
    sending = asyncio.Event()

    async def hang(_message: Message) -> None:
        sending.set()
        await asyncio.Event().wait()

    dying, other = house.api(hang), house.api()
    task = asyncio.create_task(dying.look(FROZEN))
    await sending.wait()
    task.cancel()
    await asyncio.wait([task])
    await other.look(FROZEN)
    house.wait(LEASE - SECOND)
    await other.look(FROZEN)
    assert house.sent == []
    house.wait()
    await other.look(FROZEN)
    house.wait(LEASE)
    await other.look(FROZEN)
    await house.api().look(FROZEN)
    assert house.sent == [WRONG]


async def test_who_waited_for_another_that_told_tells_nothing(house: House) -> None:
    sending, may_arrive = asyncio.Event(), asyncio.Event()

    async def arrive(message: Message) -> None:
        sending.set()
        await may_arrive.wait()
        house.sent.append(message.title)

    slow, other = house.api(arrive), house.api()
    task = asyncio.create_task(slow.look(FROZEN))
    await sending.wait()
    await other.look(FROZEN)
    may_arrive.set()
    await task
    house.wait(LEASE)
    await other.look(FROZEN)
    assert house.sent == [WRONG]


async def test_what_does_not_arrive_from_one_is_told_by_another(house: House) -> None:
    async def fail(_message: Message) -> None:
        raise UndeliveredError("nobody listens")

    cut_off, other = house.api(fail), house.api()
    for _ in range(3):
        await cut_off.look(FROZEN)
        await other.look(FROZEN)
        house.wait()
    assert house.sent == [WRONG]


async def test_one_that_starts_again_tells_nothing_again_and_tells_the_end(house: House) -> None:
    await house.api().look(FROZEN)
    house.wait()
    again = house.api()
    await again.look(FROZEN)
    house.wait()
    await again.look(FROZEN)
    assert house.sent == [WRONG]
    house.wait(QUIET)
    await house.api().look()
    assert house.sent == [WRONG, WELL]
    assert "no scheduler is alive" in house.texts[1]


async def test_what_is_over_for_one_api_is_over_when_no_api_finds_it(house: House) -> None:
    cut_off, other = house.api(), house.api()
    for _ in range(15):
        await cut_off.look(NO_VALKEY)
        await other.look()
        house.wait(2 * SECOND)
    await house.api().look()
    assert house.sent == [WRONG]
    house.wait(QUIET)
    await cut_off.look()
    await other.look()
    assert house.sent == [WRONG, WELL]


async def test_what_another_told_to_be_over_is_told_again_where_it_is_not(house: House) -> None:
    held_up, other = house.api(), house.api()
    await held_up.look(NO_VALKEY)
    house.wait(QUIET)
    await other.look()
    house.wait()
    await other.look()
    assert house.sent == [WRONG, WELL]
    house.wait()
    await held_up.look(NO_VALKEY)
    assert house.sent == [WRONG, WELL, WRONG]


async def test_what_was_seen_before_its_end_was_told_is_no_news(house: House) -> None:
    quick = house.api()
    await quick.look(FROZEN)
    seen_at = house.now
    house.wait(QUIET + SECOND)
    await quick.look()
    assert house.sent == [WRONG, WELL]
    slow = house.api()
    slow.judged_at = seen_at
    await slow.look(FROZEN)
    assert house.sent == [WRONG, WELL]


async def test_a_database_that_takes_no_writes_keeps_nobody_from_telling(house: House) -> None:
    apis = [house.api() for _ in range(2)]
    for api in apis:
        await api.look()
    await _set_read_only(house, "SET default_transaction_read_only = on")
    read_only = msgspec.structs.replace(FROZEN, kind=FindingKind.DATABASE)
    house.wait()
    for api in apis:
        await api.look(NO_VALKEY)
    assert house.sent == [WRONG, WRONG]
    house.wait()
    for api in apis:
        await api.look(NO_VALKEY, read_only)
        await api.look(NO_VALKEY, read_only)
    assert house.sent == [WRONG] * 4
    await _set_read_only(house, "RESET default_transaction_read_only")
    for _ in range(3):
        house.wait(QUIET)
        for api in apis:
            await api.look()
    assert house.sent == [WRONG] * 4 + [WELL] * 2


async def _set_read_only(house: House, change: str) -> None:
    """Change the database, and end its sessions, as a fail-over does."""
    session = await asyncpg.connect(house.dsn)
    await session.execute("SET default_transaction_read_only = off")
    name = await session.fetchval("SELECT current_database()")
    await session.execute(f'ALTER DATABASE "{name}" {change}')
    await session.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    await session.close()
