"""Server processes: started without a shell, watched, stopped within bounds, found again later.

They are plain `subprocess` children watched by polling, so that any event loop will do, also
another one at the end than at the start.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from matins.domain.values.errors import EngineError
from matins.engines.accounts import Account

POLL_S = 0.02
"""How often a condition is looked at while someone waits for it."""
LOG_MAX = 8_000_000
"""Bytes of a server's log, and once more for the one before."""
KILL_S = 5.0
"""How long the kernel may take to end a process after SIGKILL."""

_ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


def spawn(
    argv: Sequence[str | Path],
    account: Account | None,
    *,
    output: IO[bytes],
    stdin: IO[bytes],
    environment: dict[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program as that account, in a session of its own: a terminal's Ctrl-C misses it.

    It inherits nothing of our environment and no other open file. Raises EngineError.
    """
    try:
        return subprocess.Popen(  # noqa: S603 # the wheels' programs, or an operator's
            list(argv),
            stdin=stdin,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",
            env=_ENVIRONMENT | (environment or {}),
            user=None if account is None else account.uid,
            group=None if account is None else account.gid,
            extra_groups=None if account is None else [],
            start_new_session=True,
            umask=0o077,
        )
    except OSError as error:
        raise EngineError(f"{argv[0]} can't be started: {error.strerror}") from error


async def until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds; bound it with `asyncio.timeout`."""
    while not condition():  # it is the state of another process
        await asyncio.sleep(POLL_S)


async def run(
    argv: Sequence[str | Path],
    account: Account | None,
    *,
    within_s: float,
    stdin: str = "",
    environment: dict[str, str] | None = None,
) -> str:
    """Run a program to its end and give its output (both streams).

    Raises EngineError with the end of the output when it fails or takes too long.
    """
    name = Path(argv[0]).name
    with tempfile.TemporaryFile() as output, _file_of(stdin) as stdin_file:
        process = spawn(argv, account, output=output, stdin=stdin_file, environment=environment)
        try:
            async with asyncio.timeout(within_s):
                await until(lambda: process.poll() is not None)
        except TimeoutError:
            raise EngineError(f"{name} did not end within {within_s:g} s") from None
        finally:
            process.kill()
            process.wait(KILL_S)
        output.seek(0)
        text = output.read().decode(errors="replace")
    if process.returncode != 0:
        raise EngineError(f"{name} failed with code {process.returncode}:\n{last_lines(text)}")
    return text


def succeeds(argv: Sequence[str | Path], account: Account | None) -> bool:
    """Return whether a program that ends at once, such as test(1), ends well for that account."""
    with tempfile.TemporaryFile() as output, _file_of("") as nothing:
        process = spawn(argv, account, output=output, stdin=nothing)
        try:
            return process.wait(KILL_S) == 0
        finally:
            process.kill()


def _file_of(text: str) -> IO[bytes]:
    """Return a nameless file that holds the text, to be a program's stdin."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 # the caller closes it
    file.write(text.encode())
    file.seek(0)
    return file


def last_lines(text: str, count: int = 15) -> str:
    """Return the last lines of a log, for an error message."""
    return "\n".join(text.rstrip().splitlines()[-count:])


class ServerProcess:
    """One server process and its log, which is kept below twice LOG_MAX while `wait` runs."""

    def __init__(
        self,
        argv: Sequence[str | Path],
        account: Account | None,
        log: Path,
        *,
        stdin: str = "",
    ) -> None:
        self._log = log
        self._rotate()
        descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "ab") as output, _file_of(stdin) as stdin_file:
            self._started_at = output.tell()
            self._process = spawn(argv, account, output=output, stdin=stdin_file)
        self.pid = self._process.pid

    def returncode(self) -> int | None:
        """Return the exit code, negative for a signal; None while it lives."""
        return self._process.poll()

    def last_words(self) -> str:
        """Return the last lines that this process logged."""
        with self._log.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(min(self._started_at, size), size - 20_000))
            return last_lines(log.read().decode(errors="replace"))

    async def wait(self) -> int:
        """Wait for the server's end, by `stop` or by itself, and give its exit code."""
        while (code := self.returncode()) is None:
            self._rotate()
            await asyncio.sleep(0.1)
        return code

    async def stop(self, signals: Sequence[tuple[signal.Signals, float]]) -> int:
        """Send each signal and wait so many seconds after it; SIGKILL at the end."""
        await end(self._process.pid, lambda: self.returncode() is None, signals)
        return self._process.wait(KILL_S)

    def _rotate(self) -> None:
        """Copy and empty the log once it is large; what is written in between is lost."""
        if self._log.exists() and self._log.stat().st_size > LOG_MAX:
            with suppress(OSError):  # a full disk is a reason more to empty it
                shutil.copy(self._log, self._log.with_name(self._log.name + ".1"))
            os.truncate(self._log, 0)


async def end(
    pid: int, lives: Callable[[], bool], signals: Sequence[tuple[signal.Signals, float]]
) -> None:
    """End a process by these signals, each with its seconds to wait, and by SIGKILL at last.

    SIGCONT goes with each, because a frozen process would not hear it. Raises EngineError if the
    process outlives all.
    """
    for number, seconds in [*signals, (signal.SIGKILL, KILL_S)]:
        if not lives():
            return
        try:
            os.kill(pid, number)
            os.kill(pid, signal.SIGCONT)
            async with asyncio.timeout(seconds):
                await until(lambda: not lives())
        except ProcessLookupError:
            return
        except TimeoutError:
            continue
    if lives():
        raise EngineError(f"process {pid} does not end, not even by SIGKILL")


def is_running(pid: int, uid: int, words: Sequence[str]) -> bool:
    """Return whether the process lives, belongs to that account and has these words in its argv."""
    try:
        os.kill(pid, 0)
        owner, argv = _describe(pid)
    except (OSError, subprocess.SubprocessError, ValueError):
        return False
    return owner == uid and all(word in argv for word in words)


def _describe(pid: int) -> tuple[int, list[str] | str]:
    """Return the owner and the command line of a process; by ps(1) where there is no /proc."""
    folder = Path("/proc", str(pid))
    if folder.exists():
        argv = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
        return folder.stat().st_uid, argv
    output = subprocess.run(  # noqa: S603 # the pid is a number
        ["ps", "-ww", "-o", "uid=,args=", "-p", str(pid)],  # noqa: S607 # it differs by system
        capture_output=True,
        text=True,
        timeout=5,
        check=True,
    ).stdout.strip()
    owner, _, args = output.partition(" ")
    return int(owner), args
