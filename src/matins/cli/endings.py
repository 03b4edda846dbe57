"""How a command ends: its exit code, and on a mistake one line for each thing that is wrong."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress

from typer.exceptions import Abort, TyperException

from matins.domain.values.errors import (
    InvalidInputError,
    MatinsError,
    ScheduleError,
    SettingsError,
    UnavailableError,
)
from matins.domain.values.texts import clean

_WORDS = {
    ". Did you mean": "; did you mean",
    "not a valid int range": "no whole number",
    "not a valid int": "no whole number",
}

FAILED, WRONG, UNREACHABLE, INTERRUPTED = 1, 2, 3, 130


def ended(command: Callable[[], object]) -> int:
    """Run a command to its end; whatever that is, it is told in a line and as an exit code."""
    try:
        code = command()
        sys.stdout.flush()
    except BaseException as error:
        return _tell(_cause(error))
    return code if isinstance(code, int) else 0


def _cause(error: BaseException) -> BaseException:
    """Return the first error of a group: what lives together falls together."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _tell(error: BaseException) -> int:
    match error:
        case SystemExit():
            return error.code if isinstance(error.code, int) else int(bool(error.code))
        case KeyboardInterrupt() | Abort():
            return INTERRUPTED
        case BrokenPipeError():
            _give_up_stdout()
            return FAILED
        case TyperException():
            lines, code = [line for line in [_usage(error)] if line], error.exit_code
        case MatinsError():
            lines, code = _lines(error), _code(error)
        case OSError() if error.errno is not None:
            _give_up_stdout()
            lines, code = [f"{error.strerror}{_place(error)}"], FAILED
        case _:
            lines, code = [_unexpected(error)], FAILED
    with suppress(OSError, ValueError):  # where stderr is closed or full there is only the code
        for line in lines:
            print(f"matins: {clean(line)}", file=sys.stderr)
    return code


def _lines(error: MatinsError) -> list[str]:
    if isinstance(error, InvalidInputError):
        return [
            f"{problem.where}: {problem.message}".removeprefix(": ") for problem in error.problems
        ]
    return [str(error)]


def _code(error: MatinsError) -> int:
    match error:
        case InvalidInputError() | ScheduleError() | SettingsError():
            return WRONG
        case UnavailableError():
            return UNREACHABLE
    return FAILED


def _usage(error: TyperException) -> str:
    """Return what was wrong with the words of a command, on one line, with where its help is."""
    message = " ".join(error.format_message().split()).rstrip(".")
    for typers, ours in _WORDS.items():
        message = message.replace(typers, ours)
    context = getattr(error, "ctx", None)
    help_at = f"; see `{context.command_path} --help`" if context and message else ""
    return message[:1].lower() + message[1:] + help_at


def _place(error: OSError) -> str:
    return f": {error.filename}" if error.filename else ""


def _unexpected(error: BaseException) -> str:
    """What nobody raised on purpose is a fault of ours; where it happened is for who
    looks.
    """
    if os.environ.get("MATINS_LOG_LEVEL") == "debug":
        traceback.print_exception(error)
    cause = " ".join(f"{type(error).__name__}: {error}".split())
    return f"this is a fault of Matins: {cause}; MATINS_LOG_LEVEL=debug shows where"


def _give_up_stdout() -> None:
    """Where nothing can be written any more, let Python not try so again at its exit."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
