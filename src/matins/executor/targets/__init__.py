"""The kinds of targets: one module and one line of `runners` each."""

from __future__ import annotations

import asyncio
from typing import Protocol

from matins.domain.runs.attempts import Attempt, Result
from matins.executor.accounts import Accounts
from matins.executor.gateway_lease import GatewayLease
from matins.executor.keeper.link import Keeper
from matins.executor.targets.command import CommandRunner
from matins.executor.targets.http import HttpRunner
from matins.kernel.resolver import Resolver


class Runner(Protocol):
    """Executes attempts of one kind of target."""

    async def run(self, attempt: Attempt, cancel: asyncio.Event) -> Result:
        """Execute an attempt to its end, whatever it is; never raises for what the target did.

        Once `cancel` is set the attempt is ended gently. Cancelled as a task it is ended at once.
        """

    async def close(self) -> None:
        """Give up what is held; attempts in flight end."""


def runners(
    keeper: Keeper, gateway_lease: GatewayLease, accounts: Accounts | None = None
) -> dict[str, Runner]:
    """Return the runner for each kind of target, by its key in `Target`.

    `contact` and `keeper` are to be told of each answered heartbeat: without them nothing may
    start.
    """
    return {
        "http": HttpRunner(gateway_lease, Resolver()),
        "command": CommandRunner(keeper, accounts=accounts),
    }
