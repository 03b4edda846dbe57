"""What is told of the whole system: to operators, and to the dead man's switch outside."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
import pytest
from aiohttp import web

from matins.alerts.channels import UndeliveredError
from matins.alerts.operators import OperatorAlerts
from matins.alerts.switch import DeadMansSwitch
from matins.domain.alerts.texts import Message
from matins.domain.status.findings import Finding, FindingKind, SystemStatus
from matins.kernel.clock import HostClock
from matins.testing.virtual import VirtualClock, VirtualTime, in_virtual_time

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
FROZEN = Finding(
    *(FindingKind.SCHEDULERS, "failing", NOON, "no scheduler is alive", "start one"),
)


class System:
    """The whole system, as a test says that it is."""

    def __init__(self) -> None:
        self.now = NOON
        self.findings: list[Finding] = []

    async def status(self) -> SystemStatus:
        self.now += timedelta(seconds=5)
        return SystemStatus(self.now, not self.findings, list(self.findings))


class Outside:
    """Counts calls."""

    def __init__(self) -> None:
        self.calls = 0
        self.status = 200
        self.url = ""

    async def handle(self, _request: web.Request) -> web.Response:
        self.calls += 1
        return web.Response(status=self.status)


@pytest.fixture
async def outside() -> AsyncIterator[Outside]:
    outside = Outside()
    app = web.Application()
    app.router.add_get("/ping", outside.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    outside.url = f"http://127.0.0.1:{runner.addresses[0][1]}/ping"
    yield outside
    await runner.cleanup()


async def test_the_switch_is_called_while_all_is_well_only(outside: Outside) -> None:
    system = System()
    switch = DeadMansSwitch(outside.url, 60.0, system, HostClock())
    assert await switch.call()
    system.findings = [FROZEN]
    assert not await switch.call()
    system.findings = [msgspec.structs.replace(FROZEN, kind=FindingKind.CHANNEL)]
    outside.status = 500
    assert not await switch.call()
    assert outside.calls == 2
    switch._http.close()


async def test_operators_are_told_once_of_each_finding_and_of_its_end() -> None:
    system, sent = System(), list[Message]()
    names = set[UUID]()

    async def notify(name: UUID, message: Message) -> None:
        names.add(name)
        sent.append(message)

    alerts = OperatorAlerts(system, notify, HostClock())
    for findings in ([], [FROZEN], [FROZEN], [], []):
        system.findings = list(findings)
        await alerts.tell()
    assert [message.title for message in sent] == [
        "Matins: something is wrong",
        "Matins: well again",
    ]
    assert "no scheduler is alive. start one" in sent[0].text
    assert "no scheduler is alive" in sent[1].text
    assert len(names) == 2


@in_virtual_time
async def test_operators_are_not_told_of_what_is_just_starting() -> None:
    system, sent = System(), list[Message]()

    async def notify(name: UUID, message: Message) -> None:
        del name
        sent.append(message)

    alerts = OperatorAlerts(system, notify, VirtualClock(VirtualTime()), settle_s=20)
    system.findings = [FROZEN]
    await alerts.tell()
    await asyncio.sleep(19)
    system.findings = []
    await alerts.tell()
    await asyncio.sleep(1)
    await alerts.tell()
    assert sent == []
    system.findings = [FROZEN]
    await alerts.tell()
    assert len(sent) == 1


@in_virtual_time
async def test_what_operators_could_not_be_told_is_told_later_in_order() -> None:
    system, sent = System(), list[str]()
    is_down = True

    async def notify(name: UUID, message: Message) -> None:
        del name
        if is_down:
            raise UndeliveredError("nobody listens")
        sent.append(message.title)

    alerts = OperatorAlerts(system, notify, VirtualClock(VirtualTime()))
    other = msgspec.structs.replace(FROZEN, kind=FindingKind.CACHE)
    for findings in ([FROZEN], [FROZEN, other], [other]):
        system.findings = findings
        await alerts.tell()
    is_down = False
    await alerts.tell()
    assert sent == []
    await asyncio.sleep(5)
    await alerts.tell()
    assert sent == ["Matins: something is wrong"] * 2 + ["Matins: well again"]
