"""Engines that run for a while: in this process, or under a launcher that can be killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import asyncpg
from valkey.asyncio import Valkey

from matins.engines.postgres import EmbeddedPostgres
from matins.engines.valkey import EmbeddedValkey

FAST = {"fsync": "off", "shared_buffers": "16MB"}
"""Settings of a PostgreSQL whose data nobody needs after a loss of power."""


@asynccontextmanager
async def running_postgres(folder: Path, **settings: str) -> AsyncIterator[str]:
    """A PostgreSQL that is stopped at the end; gives its DSN."""
    server = EmbeddedPostgres(folder)
    dsn = await server.start(FAST | settings)
    try:
        yield dsn
    finally:
        await server.stop()


@asynccontextmanager
async def running_valkey(folder: Path) -> AsyncIterator[str]:
    """A Valkey that is stopped at the end; gives its URL."""
    server = EmbeddedValkey(folder)
    url = await server.start()
    try:
        yield url
    finally:
        await server.stop()


async def ask(dsn: str, query: str) -> Any:
    """Return the answer of PostgreSQL to one query."""
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


@asynccontextmanager
async def valkey_client(url: str) -> AsyncIterator[Valkey]:
    """A client that is closed at the end."""
    client = Valkey.from_url(url, decode_responses=True)
    try:
        yield client
    finally:
        await client.aclose()


def command_lines() -> str:
    """Return what ps shows to everyone."""
    argv = ["ps", "-ww", "-eo", "args"]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def sleeper(uid: int | None) -> Popen[bytes]:
    """Return an alien process, of that account when we are root."""
    return Popen(["sleep", "60"], user=uid)


class Launcher:
    """An engine whose launcher is another process."""

    def __init__(self, engine: str, folder: Path, account: str | None) -> None:
        script = Path(__file__).with_name("launcher.py")
        argv = [sys.executable, str(script), engine, str(folder), *([account] if account else [])]
        self.process = Popen(argv, stdin=PIPE, stdout=PIPE, text=True)
        assert self.process.stdout is not None
        address, pid = self.process.stdout.readline().split()
        self.address, self.server_pid = address, int(pid)

    def stop(self) -> str:
        """Let it stop its server; what it says then."""
        told, _ = self.process.communicate("\n")
        return told.strip()

    def kill(self) -> None:
        """Kill it as a crash would, and leave its server alone."""
        self.process.kill()
        self.process.communicate()
