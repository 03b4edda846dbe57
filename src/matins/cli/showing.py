"""How commands print: tables for people, JSON for programs."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer
import yaml
from rich.console import Console
from rich.table import Table
from rich.text import Text

from matins.domain.values.durations import format_duration

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]

WIDE = 10_000
"""The width of what goes to a file or a pipe: no line is broken there."""

NEVER = "-"

_BEYOND_ASCII = re.compile(r"[^\x00-\x7e]")

Cell = str | Text

_STYLES = {
    "queued": "cyan",
    "running": "blue",
    "retrying": "yellow",
    "succeeded": "green",
    "dead": "bold red",
    "failed": "red",
    "timed_out": "red",
    "lost": "magenta",
    "cancelled": "bright_black",
    "skipped": "bright_black",
    "active": "green",
    "alive": "green",
    "silent": "bold red",
    "paused": "yellow",
    "quarantined": "bold red",
    "overdue": "bold red",
    "in_force": "yellow",
    "past": "bright_black",
}


def console() -> Console:
    """Standard output; colours only on a terminal, and no text is taken for markup."""
    plain = Console(markup=False, highlight=False, emoji=False)
    if not plain.is_terminal:
        plain.width = WIDE
    return plain


def tell(text: str) -> None:
    """Print a line for people."""
    typer.echo(clean(text))


def print_yaml(value: object) -> None:
    """Print a value as YAML; where a text could command a terminal, with escapes."""
    plain = msgspec.to_builtins(value)
    text = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True)
    if clean(text) != text:
        text = yaml.safe_dump(plain, sort_keys=False)
    typer.echo(text, nl=False)


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


def _escape(found: re.Match[str]) -> str:
    mark = found[0]
    return mark if mark.isprintable() else json.dumps(mark).strip('"')


def table(
    printer: Console,
    heads: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    stacks: Sequence[Sequence[str]] = (),
) -> Table:
    """A table without lines. Where it is too wide, each of `stacks` is shown as one column."""
    made = _table(heads, rows)
    unbounded = printer.options.update(max_width=WIDE)
    if not stacks or printer.measure(made, options=unbounded).maximum <= printer.width:
        return made
    place = {head: index for index, head in enumerate(heads)}
    stacked = [[_stack([row[place[head]] for head in stack]) for stack in stacks] for row in rows]
    return _table(["\n".join(stack) for stack in stacks], stacked)


def _table(heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Table:
    made = Table(box=None, pad_edge=False, header_style="bold")
    for head in heads:
        made.add_column(head, overflow="fold")
    for row in rows:
        made.add_row(*map(_text, row))
    return made


def _stack(cells: Iterable[Cell]) -> Text:
    return Text("\n").join(_text(cell) for cell in cells if cell)


def _text(cell: Cell) -> Text:
    return Text(clean(cell)) if isinstance(cell, str) else cell


def facts(pairs: Iterable[tuple[str, Cell]]) -> Table:
    """One thing's facts, a line each; empty ones are left out."""
    made = Table(box=None, pad_edge=False, show_header=False)
    made.add_column(style="bold", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in pairs:
        if value:
            made.add_row(name, _text(value))
    return made


def state(name: str) -> Text:
    """A state in its colour."""
    return Text(name, style=_STYLES.get(name, ""))


def local(instant: datetime | None) -> str:
    """An instant on this host's clocks, with the name of their zone."""
    return instant.astimezone().strftime("%Y-%m-%d %H:%M:%S %Z") if instant else NEVER


def between(begin: datetime | None, end: datetime | None) -> str:
    """How long it took from one instant to another, to the millisecond."""
    if begin is None or end is None:
        return NEVER
    seconds = (end - begin).total_seconds()
    return f"-{format_duration(-seconds)}" if seconds < 0 else format_duration(seconds)


def clean(text: str) -> str:
    """A text that can't command a terminal: what a job wrote may hold anything."""
    return "".join(mark if mark.isprintable() or mark in "\n\t" else "\ufffd" for mark in text)
