"""The embedded PostgreSQL: the server of a PyPI wheel, or another one, under our own launcher.

It listens on a private socket only and wants a password from everyone. In its folder, `data` is the
cluster, `run` holds the socket, `matins.conf` is what we set, and `address` is the DSN while it
runs.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from matins.domain.values.errors import EngineError
from matins.engines.accounts import Account
from matins.engines.binaries import postgres_programs
from matins.engines.cluster import DATABASE, USER, check_version, make_cluster
from matins.engines.folders import FolderLock, own_folder, read_or_make_secret, write_private
from matins.engines.pidfile import disarm_alien_pid, is_ready, running_pid
from matins.engines.processes import ServerProcess, end, is_running, run, until
from matins.engines.sockets import make_socket_folder, remove_socket_folder
from matins.kernel.clock import elapsed_s

PORT = 5432
"""It only names the socket, `.s.PGSQL.5432`."""
FAST_STOP = [(signal.SIGINT, 30.0), (signal.SIGQUIT, 10.0)]
"""Fast, then immediate shutdown (PostgreSQL's manual, 18.5 Shutting Down the Server)."""
BACKENDS_S = 10.0
"""How long a start after a crash is tried again: while backends of the killed postmaster still hold
its shared memory, a new one ends at once, and its log alone would say why."""
IMMEDIATE_STOP = [(signal.SIGQUIT, 10.0)]


class EmbeddedPostgres:
    """One embedded PostgreSQL on its folder; it can be started and stopped again and again.

    `programs` is the folder of its programs, the wheel's when None. A start is bounded by
    `start_s`, which is long because the recovery after a crash replays up to max_wal_size of log.
    """

    def __init__(
        self, folder: Path, *, programs: Path | None = None, start_s: float = 300.0
    ) -> None:
        self.folder = folder.resolve()
        self._programs = programs
        self._start_s = start_s
        self._data = self.folder / "data"
        self._lock = FolderLock(self.folder)
        self._account: Account | None = None
        self._server: ServerProcess | None = None

    async def start(self, settings: Mapping[str, str] | None = None) -> str:
        """Start the server and give its DSN; make the cluster on first use.

        `settings` are lines of postgresql.conf that go above ours, for this start only. A server
        that outlived its launcher is stopped first. Raises EngineError with the end of the log.
        """
        assert self._server is None, "it was started already"
        self._account = own_folder(self.folder)
        self._lock.acquire()
        try:
            return await self._start(settings or {})
        except OSError as error:
            await self._end(IMMEDIATE_STOP)
            raise EngineError(f"{self.folder} can't be used: {error}") from error
        except BaseException:
            await self._end(IMMEDIATE_STOP)
            raise

    async def stop(self) -> None:
        """Stop the server: fast, after 30 s immediate. Nothing happens if it does not run."""
        await self._end(FAST_STOP)

    async def wait(self) -> int:
        """Wait until the server ends, whoever ended it, and give its exit code."""
        assert self._server is not None, "it was not started"
        return await self._server.wait()

    @property
    def pid(self) -> int:
        """The process id of the postmaster."""
        assert self._server is not None, "it was not started"
        return self._server.pid

    async def _start(self, settings: Mapping[str, str]) -> str:
        """1. programs 2. cluster 3. what a crash left 4. the server 5. health."""
        programs = await postgres_programs(self.folder, self._account, self._programs)
        password = read_or_make_secret(self.folder / "password")
        if not self._is_made():
            synced = settings.get("fsync") != "off"
            await make_cluster(programs, self._data, self._account, password, synced=synced)
        await check_version(programs, self._data, self._account)
        has_crashed = (self._data / "postmaster.pid").exists()
        await self._end_survivor()
        sockets = make_socket_folder(self.folder, self._account)
        text = configuration(sockets, settings)
        write_private(self.folder / "matins.conf", text, account=self._account)
        await self._launch(programs, BACKENDS_S if has_crashed else 0.0)
        await self._check_health(programs, sockets, password)
        dsn = f"postgresql://{USER}:{password}@/{DATABASE}?host={quote(str(sockets))}&port={PORT}"
        write_private(self.folder / "address", dsn + "\n")
        return dsn

    def _is_made(self) -> bool:
        return self._data.exists()

    async def _end_survivor(self) -> None:
        """Stop the server whose launcher was killed: we hold the lock, so no other launcher lives.

        It is not adopted: only its parent can tell how it ends.
        """
        pid = running_pid(self._data)
        if pid is not None and self._is_postmaster(pid):
            await end(pid, lambda: self._is_postmaster(pid), FAST_STOP)
        disarm_alien_pid(self._data, self._account)

    def _is_postmaster(self, pid: int) -> bool:
        return is_running(pid, self._data.stat().st_uid, ["-D", str(self._data)])

    async def _launch(self, programs: Path, patience_s: float) -> None:
        """Start the postmaster and wait until it is ready.

        One that ends at its start is started again for as long as `patience_s`.
        """
        patient_until_s = elapsed_s() + patience_s
        try:
            async with asyncio.timeout(self._start_s):
                while not await self._launch_once(programs, patient_until_s):
                    await asyncio.sleep(0.2)
        except TimeoutError:
            words = "" if self._server is None else self._server.last_words()
            raise EngineError(
                f"PostgreSQL was not ready within {self._start_s:g} s; its log ends:\n{words}"
            ) from None

    async def _launch_once(self, programs: Path, patient_until_s: float) -> bool:
        conf = f"config_file={self.folder / 'matins.conf'}"
        argv: list[str | Path] = [programs / "postgres", "-D", self._data, "-c", conf]
        server = self._server = ServerProcess(argv, self._account, self.folder / "postgres.log")
        await until(lambda: server.returncode() is not None or is_ready(self._data, server.pid))
        if server.returncode() is None:
            return True
        if elapsed_s() < patient_until_s:
            return False
        words = server.last_words()
        raise EngineError(f"PostgreSQL ended at its start; its log ends:\n{words}")

    async def _check_health(self, programs: Path, sockets: Path, password: str) -> None:
        """Log in with the password of the folder, as every other client will."""
        login = {"PGHOST": str(sockets), "PGPORT": str(PORT), "PGPASSWORD": password}
        login |= {"PGUSER": USER, "PGDATABASE": DATABASE}
        query: list[str | Path] = [programs / "psql", "-X", "-w", "-q", "-c", "SELECT 1"]
        try:
            await run(query, None, within_s=30, environment=login)
        except EngineError as error:
            raise EngineError(
                f"PostgreSQL runs but {USER} can't log in; does {self.folder / 'password'} belong"
                f" to this cluster? {error}"
            ) from error

    async def _end(self, signals: list[tuple[signal.Signals, float]]) -> None:
        try:
            if self._server is not None:
                await self._server.stop(signals)
                self._server = None
                (self.folder / "address").unlink(missing_ok=True)
                remove_socket_folder(self.folder, self._account)
        finally:
            self._lock.release()


def configuration(sockets: Path, settings: Mapping[str, str]) -> str:
    """Return the whole configuration: the cluster's own file, what we set, and `settings` above
    all.
    """
    ours = {
        "listen_addresses": "",
        "port": str(PORT),
        "unix_socket_directories": str(sockets),
        "unix_socket_permissions": "0700",
        "max_connections": "200",
        "shared_buffers": f"{shared_buffers_mb()}MB",
        "max_wal_size": "4GB",
        # Measured: pglz, the only method in this wheel, made scattered updates 8 times slower.
        "wal_compression": "off",
        "fsync": "on",
        "synchronous_commit": "on",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "log_destination": "stderr",
        "logging_collector": "off",
    }
    lines = [f"{name} = '{_quoted(value)}'" for name, value in (ours | dict(settings)).items()]
    return "\n".join(["include 'data/postgresql.conf'", *lines, ""])


def shared_buffers_mb() -> int:
    """Return a thirty-second of the host's memory, from 128 MB to 1 GB: one host carries all of
    Matins.
    """
    host_mb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    return min(max(host_mb // 32, 128), 1024)


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "''")
