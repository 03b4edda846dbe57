"""The pages for owners are true: their files are valid and their commands exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.unit.cli.commands import is_command

from matins.cli.applying import read_jobs

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(matins [^`]+)`")


def read(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def blocks(page: str, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(read(page)) if kind == language]


def commands(page: str) -> list[list[str]]:
    """Return what stands after `matins` in blocks of shell and in running text."""
    lines = [line for text in blocks(page, "sh") for line in text.splitlines()]
    lines += INLINE.findall(read(page))
    words = [shlex.split(line, comments=True) for line in lines if "matins " in line]
    return [word[word.index("matins") + 1 :] for word in words if "matins" in word]


@pytest.mark.parametrize("page", ["docs/tutorial.md", "docs/job-file.md", "docs/policies.md"])
def test_every_file_of_jobs_on_the_page_is_valid(page: str) -> None:
    files = blocks(page, "yaml")
    assert files
    for text in files:
        assert read_jobs(text, page).jobs


@pytest.mark.parametrize("page", PAGES)
def test_every_command_on_the_page_exists(page: str) -> None:
    for words in commands(page):
        # A `|` in running text lists choices, of which each must be a command.
        *before, last = [word.split("|") for word in words[:2]]
        for choice in last:
            full = [part for part, *_ in before] + [choice, *words[2:]]
            assert is_command(full), f"matins {' '.join(words)}"


def test_the_tutorial_shows_the_commands_that_an_owner_needs() -> None:
    shown = {" ".join(words[:2]) for words in commands("docs/tutorial.md")}
    assert shown >= {"jobs list", "runs watch", "apply -f", "runs show", "jobs trigger"}
