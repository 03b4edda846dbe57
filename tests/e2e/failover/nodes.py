"""PostgreSQL servers that follow each other: a primary, and a standby that may take over."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import asyncpg
from tests.e2e.cluster import until

from matins.engines.accounts import Account
from matins.engines.pidfile import is_ready
from matins.engines.processes import ServerProcess, run

PORT = 5432
"""It only names the socket."""

USER = "matins"


class Node:
    """One server, with its socket, in a folder of its own; whoever reaches it may log in."""

    def __init__(self, programs: Path, account: Account | None, folder: Path) -> None:
        self.socket = folder / f".s.PGSQL.{PORT}"
        self.dsn = f"postgresql://{USER}@/{USER}?host={folder}&port={PORT}"
        self._programs = programs
        self._account = account
        self._folder = folder
        self._data = folder / "data"
        self._server: ServerProcess | None = None
        folder.mkdir(mode=0o755)
        if account is not None:
            os.chown(folder, account.uid, account.gid)

    async def make(self) -> None:
        """Make an empty cluster, with a database for Matins, and start it as a primary."""
        options = ["--auth=trust", f"--username={USER}", "--no-locale", "--encoding=UTF8"]
        await self._run("initdb", *options, "--no-sync", "-D", self._data)
        await self.start()
        await self.execute(f"CREATE DATABASE {USER}", database="postgres")

    async def follow(self, primary: Node) -> None:
        """Become a copy of a primary, and follow it."""
        source: list[str | Path] = [
            "-h",
            primary._folder,
            "-p",
            str(PORT),
            "-U",
            USER,
            "-c",
            "fast",
            "--no-sync",
        ]
        await self._run("pg_basebackup", *source, "-X", "stream", "-R", "-D", self._data)
        await self.start()
        await until(lambda: self.value("SELECT count(*) FROM pg_stat_wal_receiver"), 30)

    async def start(self) -> None:
        """Start the server, and wait until it takes connections."""
        settings = {"unix_socket_directories": self._folder, "listen_addresses": "", "fsync": "off"}
        argv: list[str | Path] = [self._programs / "postgres", "-D", self._data, "-p", str(PORT)]
        argv += [
            part for setting in settings.items() for part in ("-c", f"{setting[0]}={setting[1]}")
        ]
        server = self._server = ServerProcess(argv, self._account, self._folder / "log")
        await until(lambda: is_ready(self._data, server.pid), 60, 0.05)

    async def kill(self) -> None:
        """SIGKILL its postmaster, as a power failure does; its backends follow it."""
        if self._server is not None:
            os.kill(self._server.pid, signal.SIGKILL)
            await self._server.wait()
            self._server = None

    async def stop(self) -> None:
        """Stop at once, if it runs."""
        if self._server is not None:
            await self._server.stop([(signal.SIGQUIT, 10.0)])
            self._server = None

    async def wait_for(self, standby: str) -> None:
        """Acknowledge a commit once a standby (`*`: any) has it, or at once if it is empty."""
        await self.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{standby}'")
        await self.execute("SELECT pg_reload_conf()")

    async def lose_touch(self) -> None:
        """Receive nothing more from the primary."""
        await self.execute("ALTER SYSTEM SET primary_conninfo = ''")
        await self.execute("SELECT pg_reload_conf()")
        await until(lambda: self.value("SELECT count(*) = 0 FROM pg_stat_wal_receiver"), 30)

    async def promote(self) -> None:
        """Become the primary, on a timeline of its own."""
        assert await self.value("SELECT pg_promote()")

    async def execute(self, sql: str, database: str = USER) -> None:
        """Run a statement as the superuser."""
        session = await self._connect(database)
        await session.execute(sql)
        await session.close()

    async def value(self, sql: str) -> object:
        """One value."""
        [row] = await self.rows(sql)
        return row[0]

    async def rows(self, sql: str) -> list[asyncpg.Record]:
        """Return all rows."""
        session = await self._connect(USER)
        rows: list[asyncpg.Record] = await session.fetch(sql)
        await session.close()
        return rows

    async def _connect(self, database: str) -> asyncpg.Connection:
        folder = str(self._folder)
        async with asyncio.timeout(10):
            return await asyncpg.connect(host=folder, port=PORT, user=USER, database=database)

    async def _run(self, program: str, *options: str | Path) -> None:
        await run([self._programs / program, *options], self._account, within_s=120)
