"""`matins up`: the engines and every role on this machine, in one command.

The roles are processes of their own, the same as in production. What dies is started again, loudly.
Ctrl-C stops all in order: the executor drains first, the engines go last. A second kills the roles.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from datetime import datetime
from importlib.resources import files

import structlog
from rich.console import Console

from matins.cli.applying import apply_text
from matins.cli.children import Child
from matins.client.sdk import Matins
from matins.domain.jobs.spec import Job
from matins.domain.values.errors import EngineError, UnavailableError
from matins.engines.endpoints import Endpoints
from matins.engines.folders import DataFolder
from matins.engines.postgres import EmbeddedPostgres
from matins.engines.valkey import EmbeddedValkey
from matins.executor.keeper.proc import hide
from matins.kernel.clock import wall_ns
from matins.kernel.logs import set_up_logs
from matins.kernel.service import stop_on_signals
from matins.kernel.settings import Settings
from matins.store.migrate import migrate

log = structlog.get_logger()

READY_S = 60.0
DEMO_FILE = "demo.yaml"
DEMO_MARK = "demo-loaded"
DEMO_URL = "http://127.0.0.1:8600"
"""The address of the API as the demo file spells it."""

SHOWN_JOBS = 5

Engine = EmbeddedPostgres | EmbeddedValkey


def run_up(settings: Settings) -> None:
    """Run until SIGINT or SIGTERM. Raises EngineError when something can't be started."""
    hide()
    set_up_logs("up", level="warning" if settings.log_level == "info" else settings.log_level)
    asyncio.run(_up(settings, Console()))


async def _up(settings: Settings, console: Console) -> None:
    """1 the folder, 2 engines, 3 schema, 4 roles, 5 the demo, once, 6 say where all is, 7 watch."""
    stopping, hurry = asyncio.Event(), asyncio.Event()
    stop_on_signals(stopping, hurry.set)
    endpoints = Endpoints(settings)
    with DataFolder(endpoints.data) as folder:
        endpoints.make_tokens()
        async with AsyncExitStack() as stack:
            console.print(f"Starting Matins in {folder.path}")
            engines: list[Engine] = [
                EmbeddedPostgres(folder.postgres, programs=settings.postgres_programs),
                EmbeddedValkey(folder.valkey),
            ]
            children: list[Child] = []

            async def start() -> None:
                [dsn, _] = [await _start(engine, stack) for engine in engines]
                await migrate(dsn)
                children.extend(await _start_roles(stack, settings, endpoints, hurry))

            async def welcome() -> None:
                await _welcome(endpoints, folder, console)
                await stopping.wait()

            await _until_first(stopping, start())
            if not stopping.is_set():
                watches = [child.watch() for child in children]
                await _until_first(stopping, welcome(), *watches, *map(_watch, engines))
            console.print("Stopping; running attempts get time to end. Ctrl-C again ends them now.")


async def _until_first(stopping: asyncio.Event, *steps: Coroutine[None, None, None]) -> None:
    """Take steps until the first of them ends, or until a Ctrl-C. Raises what that one raises."""
    stop = asyncio.create_task(stopping.wait())
    tasks = [asyncio.create_task(step) for step in steps]
    ended, unfinished = await asyncio.wait([stop, *tasks], return_when=asyncio.FIRST_COMPLETED)
    for other in unfinished:
        other.cancel()
    if unfinished:
        await asyncio.wait(unfinished)  # what they have begun is cleared away
    for task in tasks:
        if task in ended:
            task.result()


async def _start(engine: Engine, stack: AsyncExitStack) -> str:
    """Start an engine and give its address; the stack stops it."""
    address = await engine.start()
    stack.push_async_callback(engine.stop)
    return address


async def _watch(engine: Engine) -> None:
    """Start an engine again whenever it dies; the roles find it where it was."""
    while True:
        code = await engine.wait()
        log.error("engine.died", engine=type(engine).__name__, exit_code=code)
        await engine.stop()
        await engine.start()


async def _start_roles(
    stack: AsyncExitStack, settings: Settings, endpoints: Endpoints, hurry: asyncio.Event
) -> list[Child]:
    """Start api, scheduler and executor; the stack stops them in the opposite order, at once when
    there is hurry.
    """
    environment = os.environ | {
        "MATINS_DATA": str(endpoints.data),
        "MATINS_STOP_WITH_STDIN": "true",
    }
    environment["MATINS_PORT"] = str(settings.port or _same_port(settings, endpoints))
    children = [
        Child("api", ["--demo"], environment),
        Child("scheduler", [], environment | {"MATINS_LEASE_FILE": str(endpoints.lease_file)}),
        Child("executor", [], environment),
    ]
    endpoints.forget_api()
    for child in children:
        drain_s = settings.drain_s if child.role == "executor" else 0
        stack.push_async_callback(child.stop, drain_s, hurry)
        await child.start()
        if child.role == "api":
            await _published(endpoints, child)
            endpoints.remember_port()
    return children


def _same_port(settings: Settings, endpoints: Endpoints) -> int:
    """Return the port that was free at the last start if it still is: jobs may have its URL."""
    port = endpoints.remembered_port()
    try:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        socket.create_server((settings.host, port), family=family).close()
    except (OSError, UnicodeError):  # the API tells it where the host is wrong
        return 0
    return port


async def _published(endpoints: Endpoints, api: Child) -> None:
    """Wait until the API listens: the executor needs its address."""
    try:
        async with asyncio.timeout(READY_S):
            while (endpoint := endpoints.published_api()) is None or endpoint.pid != api.pid:
                if api.pid is None:
                    raise EngineError("the API ended at its start; its log above says why")
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise EngineError(f"the API did not listen within {READY_S:g} s") from None


async def _welcome(endpoints: Endpoints, folder: DataFolder, console: Console) -> None:
    """Load the demo on the first start, and say where things are and what will run next."""
    url = endpoints.api_url()
    async with Matins(url, endpoints.admin_token()) as client:
        await _until_ready(client)
        mark = folder.path / DEMO_MARK
        if not mark.exists():
            text = (files("matins.cli") / DEMO_FILE).read_text("utf-8").replace(DEMO_URL, url)
            await apply_text(client, text, DEMO_FILE)
            mark.touch()
        jobs = await client.list_jobs()
        link = await client.make_sign_in_link()
    console.print(f"Web page     {url}{link.path}  (signs you in, once)", soft_wrap=True)
    console.print(f"API          {url}  (OpenAPI at {url}/openapi.json)", soft_wrap=True)
    console.print(f"Admin token  {endpoints.admin_token_file}", soft_wrap=True)
    console.print("Next runs")
    for job in _soonest(jobs):
        console.print(f"  {_when(job.next_fire_at)}  {job.team}/{job.spec.name}")
    console.print("Watch them with `matins runs watch`; Ctrl-C stops everything.")


async def _until_ready(client: Matins) -> None:
    try:
        async with asyncio.timeout(READY_S):
            while not await client.is_ready():
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise UnavailableError(f"the API was not ready within {READY_S:g} s") from None


def _soonest(jobs: list[Job]) -> list[Job]:
    due = [job for job in jobs if job.next_fire_at is not None]
    return sorted(due, key=lambda job: str(job.next_fire_at))[:SHOWN_JOBS]


def _when(instant: datetime | None) -> str:
    """In the terminal's zone; what fell due while nothing ran is caught up now."""
    assert instant is not None
    if instant.timestamp() * 1e9 < wall_ns():
        return "now".ljust(len("2026-01-01 00:00:00 UTC"))
    return instant.astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")
