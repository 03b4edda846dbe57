"""Tables for people, in colours where it is a terminal that shows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from matins.cli.showing import clean

WIDE = 10_000
"""The width of what goes to a file or a pipe: no line is broken there."""

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
    "well": "bold green",
    "wrong": "bold red",
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


def table(
    printer: Console,
    heads: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    stacks: Sequence[Sequence[str]] = (),
) -> Table:
    """Return a table without lines. Where it is too wide, each of `stacks` is shown as one
    column.
    """
    grid = _table(heads, rows)
    unbounded = printer.options.update(max_width=WIDE)
    if not stacks or printer.measure(grid, options=unbounded).maximum <= printer.width:
        return grid
    place = {head: index for index, head in enumerate(heads)}
    stacked = [[_stack([row[place[head]] for head in stack]) for stack in stacks] for row in rows]
    return _table(["\n".join(stack) for stack in stacks], stacked)


def _table(heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Table:
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for head in heads:
        grid.add_column(head, overflow="fold")
    for row in rows:
        grid.add_row(*map(_text, row))
    return grid


def _stack(cells: Iterable[Cell]) -> Text:
    return Text("\n").join(_text(cell) for cell in cells if cell)


def _text(cell: Cell) -> Text:
    return Text(clean(cell)) if isinstance(cell, str) else cell


def facts(pairs: Iterable[tuple[str, Cell]]) -> Table:
    """One thing's facts, a line each; empty ones are left out."""
    grid = Table(box=None, pad_edge=False, show_header=False)
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in pairs:
        if value:
            grid.add_row(name, _text(value))
    return grid


def state(name: str) -> Text:
    """Return a state in its colour."""
    return Text(name, style=_STYLES.get(name, ""))
