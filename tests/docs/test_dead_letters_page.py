"""The page on dead letters is true; its commands are run in tests/e2e/cli/test_dead_commands.py."""

from __future__ import annotations

import re

import pytest
from tests.docs.tables import DOCS, rows

from matins.cli.index import COMMANDS
from matins.client.sdk import Matins
from matins.domain.runs.fingerprint import pattern_of

PAGE = "dead-letters.md"
TEXT = (DOCS / PAGE).read_text("utf-8")


@pytest.mark.parametrize(("error", "counted"), rows(PAGE, "| error | what counts of it |"))
def test_an_error_counts_as_the_page_says(error: str, counted: str) -> None:
    assert pattern_of(error) == counted


def test_all_commands_are_on_the_page() -> None:
    named = set(re.findall(r"^matins (dead \w+)", TEXT, re.MULTILINE))
    assert named == {name for name in COMMANDS if name.startswith("dead ")}


def test_the_methods_on_the_page_exist() -> None:
    [line] = re.findall(r"^In the \[SDK\].*", TEXT, re.MULTILINE)
    assert all(hasattr(Matins, name) for name in re.findall(r"`(\w+)`", line))
