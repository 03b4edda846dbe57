"""The roles as processes of a benchmark, and what processor time they use."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import Process
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from matins.engines.endpoints import Endpoints
from matins.engines.valkey import EmbeddedValkey
from matins.kernel.settings import Settings


class Roles:
    """Processes of roles, by role."""

    def __init__(self, path: Path, environment: Mapping[str, str]) -> None:
        self._path = path
        self._environment = dict(environment)
        self._endpoints = Endpoints(Settings(data=path))
        self.urls: list[str] = []
        self.processes: dict[str, list[Process]] = defaultdict(list)

    @property
    def url(self) -> str:
        """The addresses of all APIs."""
        return self._environment["MATINS_URL"]

    async def start(self, role: str, program: str = "bench.role") -> Process:
        """Start a process of a role; an API is waited for. `matins`: with real targets."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", program, role), env=self._environment
        )
        self.processes[role].append(process)
        if role == "api":
            self.urls.append(await self._published(process.pid))
            self._environment["MATINS_URL"] = ",".join(self.urls)
        return process

    async def _published(self, pid: int) -> str:
        while (endpoint := self._endpoints.published_api()) is None or endpoint.pid != pid:
            await asyncio.sleep(0.02)
        return endpoint.url

    async def stop(self) -> None:
        """Stop all that run, the last role first."""
        for role in reversed([*self.processes]):
            for process in self.processes[role]:
                if process.returncode is None:
                    process.terminate()
                    await process.wait()

    def cpu(self) -> dict[str, float]:
        """Return how many seconds of CPU each role has used so far, and PostgreSQL."""
        used = {
            role: sum(_cpu_s(process.pid) for process in processes)
            for role, processes in self.processes.items()
        }
        return used | {"postgres": postgres_cpu_s(self._path)}


@asynccontextmanager
async def roles(
    path: Path,
    dsn: str,
    *,
    apis: int = 1,
    schedulers: int = 1,
    executors: int = 1,
    slots: int = 1_500,
    settings: Mapping[str, str] | None = None,
) -> AsyncIterator[Roles]:
    """Start the roles with these settings, and stop them in the end."""
    valkey = EmbeddedValkey(path / "valkey")
    running = Roles(
        path,
        os.environ
        | {
            "MATINS_DATA": str(path),
            "MATINS_POSTGRES": dsn,
            "MATINS_VALKEY": await valkey.start(),
            "MATINS_PORT": "0",
            "MATINS_SLOTS": str(slots),
            "MATINS_ADMIN_TOKEN": "bench",
            "MATINS_EXECUTOR_TOKEN": "bench",
            "MATINS_LOG_LEVEL": "warning",
        }
        | dict(settings or {}),
    )
    try:
        for role in ["api"] * apis + ["scheduler"] * schedulers + ["executor"] * executors:
            await running.start(role)
        yield running
    finally:
        await running.stop()
        await valkey.stop()


def postgres_cpu_s(path: Path) -> float:
    """Return the CPU of PostgreSQL with its children."""
    postmaster = int((path / "postgres/data/postmaster.pid").read_text().split()[0])
    backends = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    return sum(map(_cpu_s, [postmaster, *map(int, backends)]))


def _cpu_s(pid: int) -> float:
    """CPU of a process, with its children that have ended (proc_pid_stat(5): utime to cstime)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0  # a worker that has ended; its postmaster counts it
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
