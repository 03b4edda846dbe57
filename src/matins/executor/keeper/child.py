"""Becoming a program: the last steps of a reaper before its command runs, and why they failed."""

from __future__ import annotations

import errno
import os
import resource
from subprocess import DEVNULL, Popen

from matins.executor.keeper.clock import boot_s
from matins.executor.keeper.frames import Order, RunAs
from matins.executor.keeper.program import Program, StartError, program_of

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


class TooLateError(Exception):
    """The moment by which the command had to start is over."""


def spawn(order: Order, output: int, processes: int | None) -> Popen[bytes]:
    """Start a command that leads its own session and group; `output` takes all that it writes.

    It is looked for in its own PATH, and has the default reaction to signals. Account and folder
    are those that this process takes on for it, and so is the limit on processes: None where others
    of the same account would be counted. Raises StartError or TooLateError.
    """
    program = program_of(order)
    if order.account:
        _become(RunAs(*order.account))
    if processes is not None:
        resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
    if program.cwd is not None:
        try:
            os.chdir(program.cwd)
        except OSError as error:
            reason = f"working directory {order.cwd}: {error.strerror}"
            raise StartError(reason, error.errno in _LASTING) from error
    if boot_s() >= order.start_by:
        raise TooLateError
    return _execute(program, order.argv[0], output)


def _become(account: RunAs) -> None:
    if os.geteuid() == account.uid:  # for the command before
        return
    try:
        os.setgroups(account.groups)
        os.setresgid(account.gid, account.gid, account.gid)
        os.setresuid(account.uid, account.uid, account.uid)
    except OSError as error:
        reason = f"can't be run as user {account.uid}: {error.strerror}"
        raise StartError(reason, False) from error


def _execute(program: Program, name: str, output: int) -> Popen[bytes]:
    try:
        return Popen(  # noqa: S603 # without a shell on purpose
            program.argv,
            env=program.env,
            stdin=DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    except OSError as error:
        raise _start_error(name, error) from error


def _start_error(name: str, error: OSError) -> StartError:
    reasons = {
        errno.ENOENT: "no such program, or none to interpret it",
        errno.EACCES: "is not executable, or not for this account",
        errno.ENOEXEC: "neither a program for this machine nor a script with #!",
        errno.EAGAIN: "its account, or this host, has all the processes it may (MATINS_PROCESSES)",
    }
    reason = reasons.get(error.errno or 0) or error.strerror
    return StartError(f"{name}: {reason}", error.errno in _LASTING)
