"""The kinds of targets: one module and one line of `runners` each."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from matins.domain.runs.attempts import Attempt, Result
from matins.executor.accounts import Accounts
from matins.executor.gateway_lease import GatewayLease
from matins.executor.keeper.link import Keeper
from matins.executor.news import Tell
from matins.executor.targets.command import CommandRunner
from matins.executor.targets.http import HttpRunner
from matins.kernel.resolver import Resolver


class Runner(Protocol):
    """Executes attempts of one kind of target."""

    async def run(self, attempt: Attempt, cancel: asyncio.Event, tell: Tell) -> Result:
        """Execute an attempt to its end, whatever it is; never raises for what the target did.

        Once `cancel` is set the attempt is ended gently. Cancelled as a task it is ended at once.
        What comes of it meanwhile is told, cleaned and masked.
        """

    async def close(self) -> None:
        """Give up what is held; attempts in flight end."""


def runners(
    keeper: Keeper,
    gateway_lease: GatewayLease,
    accounts: Accounts | None = None,
    secrets: Sequence[str] = (),
) -> dict[str, Runner]:
    """Return the runner for each kind of target, by its key in `Target`.

    `secrets` are the executor's own, masked in whatever targets say.
    `contact` and `keeper` are to be told of each answered heartbeat: without them nothing may
    start.
    """
    return {
        "http": HttpRunner(gateway_lease, Resolver(), secrets),
        "command": CommandRunner(keeper, accounts=accounts, secrets=secrets),
    }
