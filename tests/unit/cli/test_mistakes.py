"""Whatever is typed or set, a mistake is a line for each thing that is wrong, and no traceback."""

from __future__ import annotations

import io
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.unit.cli.commands import all_commands

from matins.cli.app import run
from matins.domain.values.errors import SettingsError
from matins.kernel.settings import Settings, read_settings, variable

ROLES = {"up", "api", "scheduler", "executor", "migrate"}
NOBODY = "http://127.0.0.1:1"
ENDINGS = {0, 1, 2, 3}

SCRAPS = (
    *("", "-", "--", "-1", "0", "1", "9" * 30, "1e9", "nan", "a", "a/b", "a/b/c", "/", "..", "*"),
    *("now", "next", "tomorrow", "+2h", "6h", "04:00", "2026-12-01T00:00:00Z", "9999-12-31"),
    *("* * * * *", "0 2 31 2 *", "{", "{cron: x}", "{every: 1s}", "[]", "null", "\udcff", "\u202e"),
    *("Europe/Berlin", "Nowhere", "k=v", "=", "queued", "019ae1f6-1b28-8a3c-9f05-2c5d1f0e7a42"),
)
WORDS = st.sampled_from(SCRAPS) | st.text(max_size=12).filter(lambda word: "\0" not in word)
LINES = (
    *("team: me\n", "jobs:\n", "  - name: a\n", "    schedule: {cron: '* * * * *'}\n", "name: 1\n"),
    *("    target: {command: {argv: [a]}}\n", "jobs: []\n", "!!python/object:os.system x\n"),
    *("{", "}", "- ", "&a ", "*a", "\t", "<<: ", "? ", "\u2028", "\x00", "'", '"'),
)
YAML = st.lists(st.sampled_from(LINES) | st.text(max_size=8)).map("".join)


@st.composite
def typed(draw: st.DrawFn) -> list[str]:
    """Return a command with options and words that may be right or wrong."""
    name = draw(st.sampled_from(sorted(COMMANDS)))
    words = name.split()
    options = [opt for param in COMMANDS[name].params for opt in param.opts if opt.startswith("-")]
    for _ in range(draw(st.integers(0, 4))):
        if options:
            words += draw(st.lists(st.sampled_from(options), max_size=1))
        words.append(draw(WORDS))
    return words if name not in ROLES else [*words, "--no-such-option"]


COMMANDS: dict[str, Any] = all_commands()


class Streams:
    """What a command writes."""

    def __init__(self) -> None:
        self.out, self.err = (_text_on(io.BytesIO()) for _ in range(2))

    @property
    def complaints(self) -> list[str]:
        """The lines on standard error."""
        self.err.seek(0)
        return self.err.read().splitlines()


def _text_on(data: io.BytesIO) -> io.TextIOWrapper:
    return io.TextIOWrapper(data, encoding="utf-8", errors="backslashreplace", newline="")


@contextmanager
def at_a_terminal(environ: dict[str, str]) -> Iterator[Streams]:
    """Standard streams and an environment of the command's own."""
    streams = Streams()
    with (
        patch.dict(os.environ, environ, clear=True),
        patch.object(sys, "stdin", _text_on(io.BytesIO())),
        patch.object(sys, "stdout", streams.out),
        patch.object(sys, "stderr", streams.err),
    ):
        yield streams


def insist(words: list[str], environ: dict[str, str]) -> None:
    """Run a command; it must end, and what it says on a mistake is lines of its own."""
    with at_a_terminal(environ) as streams:
        code = run(words)
        said = streams.complaints
    assert code in ENDINGS, (words, code)
    assert [line for line in said if not line.startswith("matins: ")] == [], words
    assert [line for line in said if "a fault of Matins" in line] == [], words
    assert (code == 0) <= (said == []), words


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@given(words=typed(), has_url=st.booleans())
@example(words=["jobs", "show", "\udcff"], has_url=True)
@example(words=["windows", "put", "a", "--to", "9999-12-31T23:59:59+00:00"], has_url=True)
def test_whatever_is_typed_ends_in_lines(words: list[str], has_url: bool, folder: Path) -> None:
    environ = {"MATINS_DATA": str(folder), "HOME": str(folder), "TERM": "dumb"}
    if has_url:
        environ |= {"MATINS_URL": NOBODY, "MATINS_TOKEN": "t"}
    insist(words, environ)


@given(text=YAML)
def test_whatever_a_file_of_jobs_holds_ends_in_lines(text: str, folder: Path) -> None:
    path = folder / "jobs.yaml"
    path.write_bytes(text.encode(errors="surrogateescape"))
    environ = {"MATINS_DATA": str(folder), "MATINS_URL": NOBODY, "MATINS_TOKEN": "t"}
    insist(["apply", "-f", str(path), "--dry-run"], environ)


NAMES = [variable(field.name) for field in msgspec.structs.fields(Settings)]


@given(st.dictionaries(st.sampled_from(NAMES), WORDS, max_size=3))
def test_whatever_is_set_is_read_or_named_in_one_line(given: dict[str, str]) -> None:
    told = "MATINS_"
    try:
        read_settings(given)
    except SettingsError as error:
        told = str(error)
    assert told.startswith("MATINS_")
    assert len(told.splitlines()) == 1


@given(st.dictionaries(st.sampled_from(NAMES), WORDS, max_size=3))
def test_commands_end_in_lines_whatever_is_set(given: dict[str, str]) -> None:
    insist(["runs", "list"], {"MATINS_DATA": "/nowhere", "MATINS_URL": NOBODY} | given)
