"""Tables for people, in colours where it is a terminal that shows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from matins.domain.values.texts import clean

WIDE = 10_000
"""The width of what goes to a file or a pipe: no line is broken there."""

_GAP = 2
"""The spaces between columns."""

_WORD_MAX = 64
"""Words up to this length are not broken: ids, and names of jobs with their teams."""

_WORD_MIN = 8
"""A column is at least so wide, if anything in it is."""

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
    """Return a table without lines, in which no id or name is broken.

    Where it is too wide, each of `stacks` is shown as one column. Where that is too wide as well,
    each row is shown as lines, a head and a value each.
    """
    if not rows:
        return _grid(heads, rows, [len(head) for head in heads])
    wide = [_measured(column) for column in zip(heads, *rows, strict=True)]
    room = printer.width - _GAP * (len(heads) - 1)
    if not stacks or sum(column.maximum for column in wide) <= room:
        stacks = [(head,) for head in heads]
    place = {head: index for index, head in enumerate(heads)}
    stacked = [[_stack([row[place[head]] for head in stack]) for stack in stacks] for row in rows]
    titles = ["\n".join(stack) for stack in stacks]
    columns = [_measured(column) for column in zip(titles, *stacked, strict=True)]
    widths = fitted(columns, printer.width - _GAP * (len(columns) - 1))
    return _grid(titles, stacked, widths) if widths else _lines(heads, rows)


def fitted(columns: Sequence[Measurement], room: int) -> list[int]:
    """Return the widths of columns that fit into the room; none if no word may be broken.

    The widest are made smaller, down to one width, and none below its longest word.
    """
    for level in range(room, -1, -1):
        widths = [max(column.minimum, min(column.maximum, level)) for column in columns]
        if sum(widths) <= room:
            return widths
    return []


def _measured(cells: Iterable[Cell]) -> Measurement:
    """Return the width of the longest word, though very long ones may be broken, and of the
    longest line.
    """
    lines = [line for cell in cells for line in _text(cell).plain.split("\n")]
    words = (cell_len(word) for line in lines for word in line.split(" "))
    longest = max((width for width in words if width <= _WORD_MAX), default=0)
    widest = max(map(cell_len, lines), default=0)
    return Measurement(max(longest, min(widest, _WORD_MIN)), widest)


def _grid(heads: Sequence[str], rows: Sequence[Sequence[Cell]], widths: Sequence[int]) -> Table:
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for head, width in zip(heads, widths, strict=True):
        grid.add_column(head, overflow="fold", width=width)
    for row in rows:
        grid.add_row(*map(_text, row))
    return grid


def _lines(heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Table:
    """Return rows as lines below each other."""
    grid = _pairs()
    for index, row in enumerate(rows):
        if index:
            grid.add_row()
        _add_pairs(grid, zip(heads, row, strict=True))
    return grid


def _stack(cells: Iterable[Cell]) -> Text:
    return Text("\n").join(_text(cell) for cell in cells if cell)


def _text(cell: Cell) -> Text:
    return Text(clean(cell)) if isinstance(cell, str) else cell


def facts(pairs: Iterable[tuple[str, Cell]]) -> Table:
    """One thing's facts, a line each; empty ones are left out."""
    grid = _pairs()
    _add_pairs(grid, pairs)
    return grid


def _pairs() -> Table:
    grid = Table(box=None, pad_edge=False, show_header=False)
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    return grid


def _add_pairs(grid: Table, pairs: Iterable[tuple[str, Cell]]) -> None:
    for name, value in pairs:
        if value:
            grid.add_row(name, _text(value))


def state(name: str, shown: str = "") -> Text:
    """Return a state, or what is shown in its place, in its colour."""
    return Text(shown or name, style=_STYLES.get(name, ""))
