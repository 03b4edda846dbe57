"""The embedded Valkey: the server of a PyPI wheel, for what may be lost at any moment.

It listens on a private socket only, wants a password and keeps nothing on disk. In its folder,
`run` holds the socket and `address` is the URL while it runs.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from pathlib import Path

from matins.domain.values.errors import EngineError
from matins.engines.accounts import Account
from matins.engines.binaries import valkey_program
from matins.engines.folders import FolderLock, own_folder, read_or_make_secret, write_private
from matins.engines.processes import ServerProcess, end, is_running, until
from matins.engines.sockets import make_socket_folder, remove_socket_folder

STOP = [(signal.SIGTERM, 5.0)]
MEMORY_MAX = "128mb"


class EmbeddedValkey:
    """One embedded Valkey on its folder; it can be started and stopped again and again."""

    def __init__(self, folder: Path, *, start_s: float = 30.0) -> None:
        self.folder = folder.resolve()
        self._start_s = start_s
        self._run = self.folder / "run"
        self._lock = FolderLock(self.folder)
        self._account: Account | None = None
        self._server: ServerProcess | None = None

    async def start(self) -> str:
        """Start the server, empty, and give its URL.

        A server that outlived its launcher is stopped first. Raises EngineError with the end of the
        log.
        """
        assert self._server is None, "it was started already"
        self._account = own_folder(self.folder)
        self._lock.acquire()
        try:
            return await self._start()
        except OSError as error:
            await self.stop()
            raise EngineError(f"{self.folder} can't be used: {error}") from error
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop the server; what it held is gone. Nothing happens if it does not run."""
        try:
            if self._server is not None:
                await self._server.stop(STOP)
                self._server = None
                (self.folder / "address").unlink(missing_ok=True)
                remove_socket_folder(self.folder, self._account)
        finally:
            self._lock.release()

    async def wait(self) -> int:
        """Wait until the server ends, whoever ended it, and give its exit code."""
        assert self._server is not None, "it was not started"
        return await self._server.wait()

    @property
    def pid(self) -> int:
        """The server's process id."""
        assert self._server is not None, "it was not started"
        return self._server.pid

    async def _start(self) -> str:
        """1. program 2. what a crash left 3. the server 4. health."""
        program = await valkey_program(self.folder, self._account)
        password = read_or_make_secret(self.folder / "password")
        await self._end_survivor()
        sockets = make_socket_folder(self.folder, self._account)
        path = sockets / "valkey.sock"
        # The configuration goes in by stdin: a password in it never lies where another may read it.
        argv: list[str | Path] = [program, "-", "--set-proc-title", "no", "--dir", sockets]
        config, log = configuration(path, password), self.folder / "valkey.log"
        server = self._server = ServerProcess(argv, self._account, log, stdin=config)
        try:
            async with asyncio.timeout(self._start_s):
                await until(lambda: server.returncode() is not None or _listens(path))
                await _check_health(path, password)
        except (OSError, TimeoutError, EngineError) as error:
            raise EngineError(
                f"Valkey did not start ({error!r}); its log ends:\n{server.last_words()}"
            ) from error
        url = f"unix://:{password}@{path}?db=0"
        write_private(self.folder / "address", url + "\n")
        return url

    async def _end_survivor(self) -> None:
        """Stop the server whose launcher was killed: we hold the lock, so no other launcher lives.

        It wrote its pid into the socket folder, which names it in its command line too.
        """
        if not self._run.exists():
            return
        sockets = self._run.resolve()
        owner = sockets.stat().st_uid
        pid = _written_pid(sockets)
        if pid is not None:
            words = ["--dir", str(sockets)]
            await end(pid, lambda: is_running(pid, owner, words), STOP)


def configuration(path: Path, password: str) -> str:
    """Return the whole valkey.conf."""
    return f"""\
port 0
unixsocket {path}
unixsocketperm 700
requirepass {password}
pidfile {path.parent / "valkey.pid"}
daemonize no
logfile ""
save ""
appendonly no
maxmemory {MEMORY_MAX}
maxmemory-policy allkeys-lru
"""


def _written_pid(sockets: Path) -> int | None:
    try:
        text = (sockets / "valkey.pid").read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


async def _check_health(path: Path, password: str) -> None:
    """Log in and ping, by the inline form of the protocol. Raises EngineError or OSError."""
    reader, writer = await asyncio.open_unix_connection(str(path))
    try:
        writer.write(f"AUTH {password}\r\nPING\r\n".encode())
        for expected in (b"+OK\r\n", b"+PONG\r\n"):
            answer = await reader.readline()
            if answer != expected:
                raise EngineError(f"it answered {answer!r} instead of {expected!r}")
    finally:
        writer.close()
        await writer.wait_closed()
