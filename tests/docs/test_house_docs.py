"""What the documents say of the house is true: links, commands, variables, modules, examples."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pytest
import typer
import yaml
from tests.docs.generated import PARTS, ROOT, field_docstrings, span

from matins.cli.app import app
from matins.cli.index import Later
from matins.domain.jobs.spec import JobFile
from matins.domain.jobs.targets import Target
from matins.domain.runs.attempts import Attempt
from matins.executor.targets.metadata import attempt_metadata
from matins.kernel.settings import Settings, variable

SOURCE = ROOT / "src" / "matins"
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
    for folder, pattern in (
        (ROOT, "*.md"),
        (ROOT / "docs", "**/*.md"),
        (ROOT / "examples", "**/*.md"),
    )
    for path in sorted(folder.glob(pattern))
}
EACH_PAGE = pytest.mark.parametrize("page", PAGES)

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_VARIABLE = re.compile(r"\bMATINS_[A-Z0-9_]+\b")


@EACH_PAGE
def test_links_lead_somewhere(page: str) -> None:
    broken = []
    for link in _LINK.findall(_prose(PAGES[page])):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        if not target.exists() or (anchor and anchor not in _anchors(target.read_text("utf-8"))):
            broken.append(link)
    assert broken == []


@EACH_PAGE
def test_make_targets_exist(page: str) -> None:
    known = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = {words[1] for words in _commands(PAGES[page], "make") if words[1:]}
    assert {word for word in named if word.isalpha() and word.islower()} <= known


@EACH_PAGE
def test_matins_commands_exist_with_their_options(page: str) -> None:
    for words in _commands(PAGES[page], "matins"):
        command: Any = typer.main.get_command(app)
        rest = words[1:]
        while rest and hasattr(command, "commands") and not rest[0].startswith("-"):
            assert rest[0] in command.commands, " ".join(words)
            command = command.commands[rest.pop(0)]
        if isinstance(command, Later):
            command = command.load()
        known = {"-h", "--help"}.union(
            *(param.opts + param.secondary_opts for param in command.params)
        )
        assert {word.split("=")[0] for word in rest if word.startswith("-")} <= known, " ".join(
            words
        )


@EACH_PAGE
def test_variables_are_settings_or_told_to_targets(page: str) -> None:
    attempt = Attempt(UUID(int=1), 1, datetime(2026, 1, 1, tzinfo=UTC), "t", "j", Target(), 1.0)
    told = {f"MATINS_{name.upper().replace('-', '_')}" for name in attempt_metadata(attempt)}
    known = {variable(field.name) for field in msgspec.structs.fields(Settings)} | told
    named = {name for name in _VARIABLE.findall(PAGES[page]) if not name.endswith("_")}
    assert named <= known


@pytest.mark.parametrize(
    "text", [text for kind, text in _FENCE.findall(PAGES["README.md"]) if kind == "yaml"]
)
def test_job_files_in_the_readme_are_valid(text: str) -> None:
    file = msgspec.convert(yaml.safe_load(text), JobFile)
    assert file.jobs
    assert file.problems() == []


@pytest.mark.parametrize("name", PARTS)
def test_generated_parts_are_as_the_code_is(name: str) -> None:
    page, make = PARTS[name]
    found = span(name).findall(page.read_text("utf-8"))
    assert found == [make()], "run: make docs"


def test_every_setting_says_what_it_means() -> None:
    named = {field.name for field in msgspec.structs.fields(Settings)}
    assert field_docstrings(Settings).keys() == named


@pytest.mark.parametrize("page", ["docs/architecture.md", "docs/how-it-works.md"])
def test_pages_on_the_inside_name_no_file_that_is_gone(page: str) -> None:
    named = re.findall(r"`((?:src/matins/)?[\w/]+\.(?:py|sql|yaml))`", PAGES[page])
    paths = {path.removeprefix("src/matins/") for path in named}
    assert sorted(path for path in paths if not (SOURCE / path).exists()) == []


@pytest.mark.parametrize("page", ["docs/architecture.md", "docs/how-it-works.md"])
def test_pages_on_the_inside_name_nothing_that_is_gone_from_its_file(page: str) -> None:
    named = re.findall(r"`(\w+)(?:\(\))?`[\s,]+in\s+`([\w/]+\.(?:py|sql))`", PAGES[page])
    gone = []
    for name, path in named:
        text = (SOURCE / path).read_text("utf-8")
        if not re.search(rf"^\s*(-- name: |(async )?def |class )?{name}\b", text, re.MULTILINE):
            gone.append(f"{name} in {path}")
    assert gone == []


def test_contributing_names_no_path_that_is_gone() -> None:
    named = re.findall(r"`((?:src|tests|docs|examples|bench)/[\w/.-]*)`", PAGES["CONTRIBUTING.md"])
    assert sorted(path for path in named if not (ROOT / path).exists()) == []


def test_the_index_names_every_page() -> None:
    linked = {link.partition("#")[0] for link in _LINK.findall(PAGES["docs/README.md"])}
    pages = {page.removeprefix("docs/") for page in PAGES if page.startswith("docs/")}
    assert sorted(pages - linked - {"README.md"}) == []


def test_decisions_are_numbered_dated_and_titled() -> None:
    names = sorted(page for page in PAGES if page.startswith("docs/decisions/"))
    numbers = [int(Path(name).name[:4]) for name in names]
    assert len(set(numbers)) == len(numbers)
    for name, number in zip(names, numbers, strict=True):
        title, date = PAGES[name].split("\n\n")[:2]
        assert title.startswith(f"# {number}. "), name
        assert re.match(r"Date: \d{4}-\d\d-\d\d\. State: ", date), name


def test_the_changelog_knows_the_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert f"## [{project['version']}]" in PAGES["CHANGELOG.md"]


def test_the_decision_on_dependencies_names_each() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    taken = {re.split(r"[<>=~!]", dependency)[0] for dependency in project["dependencies"]}
    page = next(text for name, text in PAGES.items() if name.startswith("docs/decisions/0003"))
    told = set(re.findall(r"^\| `([\w-]+)`", page, re.MULTILINE))
    assert told == taken


def _prose(text: str) -> str:
    """Return the page without its code."""
    return _CODE.sub("", _FENCE.sub("", text))


def _anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    plain = [
        re.sub(r"[^\w\- ]", "", heading.lower())
        for heading in _HEADING.findall(_FENCE.sub("", text))
    ]
    return {heading.replace(" ", "-") for heading in plain}


def _commands(text: str, program: str) -> Iterator[list[str]]:
    """Yield the words of each call of a program: in code spans, and behind a `$` in code blocks."""
    lines = [f"$ {command}" for command in _CODE.findall(_FENCE.sub("", text))]
    for _, block in _FENCE.findall(text):
        lines += block.splitlines()
    for line in lines:
        words = line.split("#")[0].split()
        if words[:1] != ["$"]:
            continue
        words = [word for word in words[1:] if not re.fullmatch(r"[A-Z_]+=\S*", word)]
        if words[:1] == [program]:
            yield words
