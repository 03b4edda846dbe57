"""One role as a process of a benchmark: `python -m bench.role api|scheduler|executor`.

All as in production, but the executor's targets do nothing; with BENCH_FAILS they fail for good.
"""

from __future__ import annotations

import asyncio
import os
import sys
from random import SystemRandom

from matins.client.gateway_link import HttpGatewayLink
from matins.domain.runs.attempts import Attempt, Result
from matins.domain.runs.states import Outcome
from matins.engines.endpoints import Endpoints
from matins.executor.fleet import Executor
from matins.executor.news import Tell
from matins.kernel.clock import HostClock
from matins.kernel.service import run_services
from matins.kernel.settings import Settings, read_settings
from matins.roles.api import run_api
from matins.roles.process import run_role
from matins.roles.scheduler import run_scheduler

_DONE = Result(Outcome.SUCCEEDED)
_TRACE = "Traceback (most recent call last):\n" + "  File x.py, line 7\n" * 20


class NoTarget:
    """A runner that has nothing to do."""

    async def run(self, attempt: Attempt, cancel: asyncio.Event, tell: Tell) -> Result:
        """Succeed at once."""
        del attempt, cancel, tell
        return _DONE

    async def close(self) -> None:
        """Nothing is held."""


class BrokenTarget(NoTarget):
    """A runner whose attempts fail at once, in three ways, with a number in each."""

    async def run(self, attempt: Attempt, cancel: asyncio.Event, tell: Tell) -> Result:
        """Fail, so that nothing is tried again."""
        del cancel, tell
        number = attempt.run_id.int
        error = ("KeyError", "ValueError", "OSError")[number % 3]
        output = f"{_TRACE}{error}: order {number % 10**6}\n"
        return Result(Outcome.FAILED, "exit code 1", permanent=True, output=output, exit_code=1)


async def run_executor(settings: Settings, stopping: asyncio.Event) -> None:
    """Run an executor whose HTTP targets are never called."""
    endpoints = Endpoints(settings)
    link = HttpGatewayLink(endpoints.api_url().split(","), endpoints.executor_token())
    clock, rng = HostClock(), SystemRandom()
    runners = {"http": BrokenTarget() if os.environ.get("BENCH_FAILS") else NoTarget()}
    executor = Executor(link, runners, clock, rng, settings, "bench", lambda _at: None)
    await run_services([executor], stopping)
    await link.close()


if __name__ == "__main__":
    given = read_settings()
    match sys.argv[1]:
        case "api":
            run_api(given)
        case "scheduler":
            run_scheduler(given)
        case "executor":
            run_role("executor", given, lambda stopping: run_executor(given, stopping))
