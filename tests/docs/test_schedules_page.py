"""The page on schedules is true: each row of its example tables is run."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
import yaml

from matins.domain.schedules.checking import problems
from matins.domain.schedules.compiling import compile_schedule
from matins.domain.schedules.schedule import Schedule

PAGE = Path(__file__).parents[2] / "docs" / "schedules.md"
ANCHOR = datetime(2026, 1, 1, tzinfo=UTC)


def rows(header: str) -> list[list[str]]:
    """Give the cells of all tables with a header."""
    found: list[list[str]] = []
    inside = False
    for line in PAGE.read_text("utf-8").splitlines():
        if line == header:
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not line.startswith("| ---"):
            found.append([cell.strip().strip("`") for cell in line.strip("|").split(" | ")])
    return found


def read(text: str) -> Schedule:
    return msgspec.convert(yaml.safe_load(text), Schedule)


DUE = rows("| schedule | after | due |")
REFUSED = rows("| schedule | field | the message contains |")
MACROS = rows("| macro | unix | jenkins |")


@pytest.mark.parametrize(("text", "after", "due"), DUE)
def test_example_is_due_as_the_page_says(text: str, after: str, due: str) -> None:
    table = compile_schedule(read(text), seed="job", anchor=ANCHOR)
    instant: datetime | None = datetime.fromisoformat(after)
    for wanted in due.split(", "):
        assert instant is not None
        instant = table.next_after(instant)
        assert instant == (None if wanted == "never" else datetime.fromisoformat(wanted))


@pytest.mark.parametrize(("text", "field", "message"), REFUSED)
def test_example_is_refused_as_the_page_says(text: str, field: str, message: str) -> None:
    found = problems(read(text))
    assert [problem.where for problem in found] == [field]
    assert message in found[0].message


@pytest.mark.parametrize("cells", MACROS)
def test_macro_means_what_the_page_says(cells: list[str]) -> None:
    for macro in cells[0].split("`, `"):
        for text, dialect in ((cells[1], "unix"), (cells[2], "jenkins")):
            short = msgspec.convert({"cron": macro, "dialect": dialect}, Schedule)
            long = msgspec.structs.replace(short, cron=text)
            dues = [
                compile_schedule(one, seed="job", anchor=ANCHOR).next_after(ANCHOR)
                for one in (short, long)
            ]
            assert dues[0] == dues[1]


def test_the_page_has_examples_for_each_zone_it_promises() -> None:
    for zone in (
        "Europe/Berlin",
        "America/New_York",
        "Australia/Lord_Howe",
        "Africa/Casablanca",
        "America/Sao_Paulo",
    ):
        assert any(zone in cells[0] for cells in DUE)
    assert len(DUE) > 35
    assert len(REFUSED) > 10
