"""The role `executor`: it calls targets. It knows a URL and a token."""

from __future__ import annotations

import asyncio
import platform
from random import SystemRandom

from matins.client.gateway_link import HttpGatewayLink
from matins.engines.endpoints import Endpoints
from matins.executor.accounts import Accounts
from matins.executor.fleet import Executor
from matins.executor.gateway_lease import GatewayLease
from matins.executor.keeper.frames import KeeperLimits
from matins.executor.keeper.link import Keeper
from matins.executor.targets import runners
from matins.kernel.clock import HostClock
from matins.kernel.service import run_services
from matins.kernel.settings import Settings
from matins.roles.process import health, run_role


def run_executor(settings: Settings) -> None:
    """Run an executor."""
    run_role("executor", settings, lambda stopping: _executor(settings, stopping))


async def _executor(settings: Settings, stopping: asyncio.Event) -> None:
    endpoints = Endpoints(settings)
    accounts = Accounts(settings.run_as, settings.slots)
    limits = KeeperLimits(
        cut_off_s=settings.cut_off_s,
        grace_s=settings.grace_s,
        apart=settings.namespaces,
        processes=settings.processes,
    )
    keeper = Keeper(limits)
    token = endpoints.executor_token()
    link = HttpGatewayLink(endpoints.api_url().split(","), token)
    clock = HostClock()
    contact = GatewayLease(clock, settings.cut_off_s)

    def on_contact(asked_at: float) -> None:
        keeper.contact(asked_at)
        contact.hear(asked_at)

    executor = Executor(
        link,
        runners(keeper, contact, accounts, [token]),
        clock,
        SystemRandom(),
        settings,
        settings.name or platform.node() or "executor",
        on_contact,
    )

    async def is_ready() -> bool:
        return executor.is_ready()

    try:
        await keeper.start()
        await run_services([executor, *health(settings, is_ready)], stopping)
    finally:
        await keeper.close()
        await link.close()
