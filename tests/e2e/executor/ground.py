"""What the executor's tests stand on: attempts to run, and an eye on real processes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar
from uuid import UUID, uuid4

import msgspec

from matins.domain.jobs.targets import CommandTarget, HttpTarget, Target
from matins.domain.runs.attempts import Attempt, Result
from matins.executor.targets.command import CommandRunner

T = TypeVar("T")

DUE_AT = datetime(2026, 11, 29, 2, tzinfo=UTC)


class Processes:
    """The processes of one test, known by the odd length of their sleep: up to 0.1 s more."""

    def __init__(self, seconds: int = 600) -> None:
        self.sleep = f"sleep {seconds}.0{uuid4().int % 10**9:09}"

    def alive(self) -> list[int]:
        """Return who sleeps so; zombies have no command line and don't count."""
        wanted = self.sleep.replace(" ", "\0").encode()
        return [pid for pid in every_pid() if wanted in _read(pid, "cmdline")]

    async def appear(self, count: int = 1) -> list[int]:
        """Wait until there are at least so many."""
        return await until(lambda: found if len(found := self.alive()) >= count else None)

    async def vanish(self) -> None:
        """Wait until there are none."""
        await until(lambda: not self.alive())


def every_pid() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").glob("[0-9]*")]


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def keeper_pid(executor: int | None = None) -> int:
    """Return the keeper of an executor process; of this one by default."""
    [pid] = keeper_pids(executor)
    return pid


def keeper_pids(executor: int | None = None) -> list[int]:
    """Return the keepers of an executor process, in the order of their start."""
    parent = f"PPid:\t{executor or os.getpid()}\n".encode()
    pids = [
        pid
        for pid in every_pid()
        if parent in _read(pid, "status") and b"matins.executor.keeper" in _read(pid, "cmdline")
    ]
    return sorted(pids, key=_started)  # ids begin again when all were used


def _started(pid: int) -> int:
    """Return when a process started, in ticks since boot; 0 if it is gone."""
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[19]) if fields else 0


async def until(condition: Callable[[], T | None], bound_s: float = 10.0) -> T:
    """Wait until a condition holds, and give what it gave."""
    async with asyncio.timeout(bound_s):
        while not (found := condition()):  # nothing tells of other processes
            await asyncio.sleep(0.01)
        return found


def command(
    *argv: str,
    timeout_s: float = 20.0,
    run_id: UUID | None = None,
    env: dict[str, str] | None = None,
    cwd: str | None = None,
    alone: bool = False,
    team: str = "payments",
) -> Attempt:
    """Return an attempt at a command."""
    target = Target(command=CommandTarget(argv=list(argv), env=env or {}, cwd=cwd))
    return msgspec.structs.replace(attempt(target, timeout_s, run_id), alone=alone, team=team)


def request(url: str, *, timeout_s: float = 20.0, **fields: object) -> Attempt:
    """Return an attempt at an HTTP target."""
    return attempt(Target(http=HttpTarget(url=url, **fields)), timeout_s)  # type: ignore[arg-type]


def attempt(target: Target, timeout_s: float, run_id: UUID | None = None) -> Attempt:
    return Attempt(
        run_id=run_id or uuid4(),  # processes are known by it on all of this machine
        number=2,
        due_at=DUE_AT,
        team="payments",
        job="nightly",
        target=target,
        timeout_s=timeout_s,
    )


class Commands:
    """Runs commands as the executor's fleet would."""

    def __init__(self, runner: CommandRunner) -> None:
        self.runner = runner

    async def shell(self, script: str, **fields: float) -> Result:
        """Run a script to its end."""
        return await self.run(command("sh", "-c", script, **fields))  # type: ignore[arg-type]

    async def run(self, attempt: Attempt, cancel: asyncio.Event | None = None) -> Result:
        """Run an attempt to its end."""
        return await self.runner.run(attempt, cancel or asyncio.Event())
