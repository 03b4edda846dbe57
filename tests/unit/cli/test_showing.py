"""Tables: whole in a pipe, stacked where they would not fit, harmless to the terminal."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from matins.cli import showing
from matins.cli.showing import ago, between, left, print_json, print_json_line
from matins.cli.tables import facts, table
from matins.domain.values.texts import clean
from matins.kernel.documents import read_document, yaml_text

HEADS = ("JOB", "SCHEDULE", "STATE")
ROWS = [("demo/nightly", "0 2 * * * in Europe/Berlin", "active")]
STACKS = (("JOB", "SCHEDULE"), ("STATE",))
START = datetime(2026, 11, 29, tzinfo=UTC)


def shown(width: int) -> list[str]:
    printer = Console(file=io.StringIO(), width=width, markup=False, highlight=False)
    with printer.capture() as capture:
        printer.print(table(printer, HEADS, ROWS, STACKS))
    return [line.rstrip() for line in capture.get().splitlines()]


def test_a_table_that_fits_has_a_line_for_each_row() -> None:
    assert shown(80) == [
        "JOB           SCHEDULE                    STATE",
        "demo/nightly  0 2 * * * in Europe/Berlin  active",
    ]


def test_a_table_that_does_not_fit_is_stacked() -> None:
    assert shown(40) == [
        "JOB",
        "SCHEDULE                    STATE",
        "demo/nightly                active",
        "0 2 * * * in Europe/Berlin",
    ]


def test_what_a_job_wrote_can_not_command_the_terminal() -> None:
    assert clean("a\x1b[2Jb\rc\n\td") == "a\ufffd[2Jb\ufffdc\n\td"


HOSTILE = {"description": "pay \u202eexe.gpj\u2028\x1b[2J", "label": "Zürich \U000e0001"}


def test_yaml_shows_what_could_command_the_terminal_as_escapes() -> None:
    text = yaml_text(HOSTILE)
    assert clean(text) == text
    assert "\\u202E" in text
    assert read_document(text).value == HOSTILE


def test_yaml_without_anything_of_that_kind_is_readable() -> None:
    assert yaml_text({"label": "Zürich"}) == "label: Zürich"


def test_json_shows_what_could_command_the_terminal_as_escapes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for show in (print_json, print_json_line):
        show(HOSTILE)
        out = capsys.readouterr().out
        assert clean(out) == out
        assert "Zürich" in out
        assert json.loads(out) == HOSTILE


def test_commands_print_texts_of_others_only_through_what_cleans_them() -> None:
    folder = Path(showing.__file__).parent
    raw = [path.name for path in folder.glob("*.py") if "typer.echo(" in path.read_text("utf-8")]
    assert sorted(raw) == ["app.py", "showing.py"]


def test_brackets_are_no_markup() -> None:
    printer = Console(file=io.StringIO(), width=40, markup=False)
    with printer.capture() as capture:
        printer.print(facts([("reason", "[red]exit code[/red] 1"), ("empty", "")]))
    assert capture.get().strip() == "reason  [red]exit code[/red] 1"


def test_lengths_of_time_are_shown_to_the_millisecond() -> None:
    assert between(START, START + timedelta(seconds=61.5)) == "1m1s500ms"
    assert between(START, START - timedelta(seconds=2)) == "-2s"
    assert between(START, None) == "-"


WORDS = st.text(st.sampled_from("abcdef0123456789-/"), min_size=1, max_size=64)
CELLS = st.lists(WORDS, max_size=4).map(" ".join)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=3), st.integers(75, 200))
def test_no_id_and_no_name_is_broken(rows: list[tuple[str, str, str]], width: int) -> None:
    printer = Console(file=io.StringIO(), width=width, markup=False, highlight=False)
    for stacks in (STACKS, ()):
        with printer.capture() as capture:
            printer.print(table(printer, HEADS, rows, stacks))
        lines = capture.get().splitlines()
        assert max(map(len, lines)) <= width
        shown = {word for line in lines for word in line.split()}
        assert {word for row in rows for cell in row for word in cell.split()} <= shown


def test_a_table_that_is_too_wide_even_stacked_has_a_line_for_each_cell() -> None:
    printer = Console(file=io.StringIO(), width=40)
    rows = [("a" * 20, "not so long", "c" * 20), ("d", "", "f")]
    with printer.capture() as capture:
        printer.print(table(printer, HEADS, rows, STACKS))
    assert [line.rstrip() for line in capture.get().splitlines()] == [
        f"JOB       {'a' * 20}",
        "SCHEDULE  not so long",
        f"STATE     {'c' * 20}",
        "",
        "JOB       d",
        "STATE     f",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "now"), (59.9, "59s"), (61, "1m1s"), (3661, "1h1m"), (90061, "1d1h"), (-1, "now")],
)
def test_what_is_left_is_shown_in_two_units(seconds: float, text: str) -> None:
    assert left(START + timedelta(seconds=seconds), START) == text
    assert ago(START, START + timedelta(seconds=seconds)).removesuffix(" ago") == text
    assert left(None, START) == ago(None, START) == "-"
