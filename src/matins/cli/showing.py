"""How commands print: lines for people, JSON for programs."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from matins.domain.values.durations import format_duration
from matins.domain.values.texts import clean

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]

NEVER = "-"

_BEYOND_ASCII = re.compile(r"[^\x00-\x7e]")


def tell(text: str) -> None:
    """Print a line for people."""
    typer.echo(clean(text))


def tell_aside(text: str) -> None:
    """Print a line for people where it does not mix with what was asked for."""
    typer.echo(clean(text), err=True)


def show_text(text: str) -> None:
    """Print a piece of a text at once, with no more than it has."""
    typer.echo(clean(text), nl=False)
    sys.stdout.flush()


def write_anywhere() -> None:
    """Let standard output take every text, whatever its encoding, and even when it is closed."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 # as long as the process lives
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def print_json(value: object) -> None:
    """Print a value as JSON."""
    typer.echo(_escaped(msgspec.json.format(msgspec.json.encode(value), indent=2).decode()))


def print_json_line(value: object) -> None:
    """Print a value as JSON on one line."""
    typer.echo(_escaped(msgspec.json.encode(value).decode()))


def _escaped(text: str) -> str:
    """Escape what could command a terminal; in JSON it can stand within strings only."""
    return _BEYOND_ASCII.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    mark = match[0]
    return mark if mark.isprintable() else json.dumps(mark).strip('"')


def local(instant: datetime | None) -> str:
    """Return an instant on this host's clocks, with the name of their zone."""
    return instant.astimezone().strftime("%Y-%m-%d %H:%M:%S %Z") if instant else NEVER


def between(begin: datetime | None, end: datetime | None) -> str:
    """Return how long it took from one instant to another, to the millisecond."""
    if begin is None or end is None:
        return NEVER
    seconds = (end - begin).total_seconds()
    return f"-{format_duration(-seconds)}" if seconds < 0 else format_duration(seconds)


def ago(instant: datetime | None, now: datetime) -> str:
    """Return how long ago something was, in its two largest units."""
    if instant is None:
        return NEVER
    return f"{_rough((now - instant).total_seconds())} ago" if instant < now else "now"


def left(instant: datetime | None, now: datetime) -> str:
    """Return how long it is until something, in its two largest units; `now` when it is due."""
    if instant is None:
        return NEVER
    return _rough((instant - now).total_seconds()) if instant > now else "now"


def _rough(seconds: float) -> str:
    """Return a length of time without what is small beside the rest."""
    grain = 3600 if seconds >= 86400 else 60 if seconds >= 3600 else 1
    return format_duration(seconds // grain * grain)
