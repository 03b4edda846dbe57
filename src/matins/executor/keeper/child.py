"""One child process: started without ever blocking the keeper, signalled as a group, reaped."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
from typing import NoReturn

from matins.executor.keeper.proc import IS_LINUX, die_with_parent

CHUNK = 64 * 1024
"""How much output is read at once: what a pipe holds."""

# Python ignores the last two, and the keeper handles the others; a command gets the defaults.
_RESET = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGCHLD,
    signal.SIGPIPE,
    signal.SIGXFSZ,
)

_LASTING = frozenset(
    {
        errno.ENOENT,
        errno.ENOTDIR,
        errno.EACCES,
        errno.ENOEXEC,
        errno.EISDIR,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.E2BIG,
    }
)


class StartError(Exception):
    """A command could not be started. `permanent`: another try would end the same way."""

    def __init__(self, reason: str, permanent: bool) -> None:
        super().__init__(reason)
        self.permanent = permanent


class Child:
    """A process that leads its own session and group, with one pipe for all its output.

    Nothing here waits for exec(3): a program on a dead network drive would stop the keeper's clock.
    Whether exec failed stands in a second pipe, which is read after the end.
    """

    def __init__(self, argv: list[str], env: dict[str, str], cwd: str | None) -> None:
        """Start it. Raises StartError for what is known to fail before the fork."""
        self._argv = argv
        self._cwd = cwd
        self._status: int | None = None
        program = _encode_all(argv)
        variables = dict(zip(_encode_all(list(env)), _encode_all(list(env.values())), strict=True))
        folder = _encode_all([cwd])[0] if cwd else None
        keeper = os.getpid()
        ends: list[int] = []
        try:
            ends += os.pipe()
            ends += os.pipe()
            self.pid = os.fork()
        except OSError as error:
            for end in ends:
                os.close(end)
            raise StartError(f"no process could be started: {error.strerror}", False) from error
        self.output, write_output, self._trouble, write_trouble = ends
        if self.pid == 0:
            _become(keeper, program, variables, folder, (write_output, write_trouble))
        os.close(write_output)
        os.close(write_trouble)
        os.set_blocking(self.output, False)
        os.set_blocking(self._trouble, False)

    def signal_group(self, number: int) -> None:
        """Send a signal to the whole group; nothing happens if it is gone."""
        with contextlib.suppress(PermissionError):
            try:
                os.killpg(self.pid, number)
            except ProcessLookupError:
                if self._status is None:  # forked a moment ago: its group doesn't exist yet
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(self.pid, number)

    def has_exited(self) -> bool:
        """Whether the process itself has ended.

        On Linux it stays a zombie until `reap`, so that its pid, the name of its group, is not used
        anew before the group was killed.
        """
        if self._status is not None:
            return True
        if IS_LINUX:
            flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self.pid, flags) is not None
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            self._status = status
        return bool(pid)

    def reap(self) -> int:
        """Take the exit code of a process that has exited; negative: killed by that signal.

        Raises StartError if the program was never reached.
        """
        if self._status is None:
            _, self._status = os.waitpid(self.pid, 0)
        try:
            stage, _, number = os.read(self._trouble, 64).decode().partition(" ")
        except BlockingIOError:
            stage = ""
        if stage:
            raise self._trouble_at(stage, int(number))
        return os.waitstatus_to_exitcode(self._status)

    def close(self) -> None:
        """Close the pipes."""
        os.close(self.output)
        os.close(self._trouble)

    def _trouble_at(self, stage: str, number: int) -> StartError:
        program = self._argv[0]
        permanent = number in _LASTING
        if stage == "cwd":
            return StartError(f"working directory {self._cwd}: {os.strerror(number)}", permanent)
        if number == errno.ENOENT:
            return StartError(f"{program}: no such program, or none to interpret it", permanent)
        if number == errno.EACCES:
            return StartError(f"{program}: is not executable, or not for this account", permanent)
        if number == errno.ENOEXEC:
            return StartError(
                f"{program}: neither a program for this machine nor a script with #!", permanent
            )
        return StartError(f"{program}: {os.strerror(number)}", permanent)


def _encode_all(texts: list[str]) -> list[bytes]:
    try:
        encoded = [os.fsencode(text) for text in texts]
    except UnicodeEncodeError as error:
        raise StartError(f"{error.object!r} is not valid text", True) from error
    for text in encoded:
        if b"\0" in text:
            raise StartError(f"{text!r} holds a NUL, which no command can be given", True)
    return encoded


def _become(
    keeper: int,
    program: list[bytes],
    variables: dict[bytes, bytes],
    folder: bytes | None,
    pipes: tuple[int, int],
) -> NoReturn:
    """In the forked child: take leave of the keeper and become the program."""
    output, trouble = pipes
    stage = "start"
    try:
        for number in _RESET:
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        die_with_parent(keeper)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        if folder is not None:
            stage = "cwd"
            os.chdir(folder)
        stage = "exec"
        os.execvpe(program[0], program, variables)  # noqa: S606 # without a shell on purpose
    except OSError as error:
        os.write(trouble, f"{stage} {error.errno}".encode())
    finally:
        os._exit(127)
