"""The pages on schedules are true: each row of their example tables is run."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest
import yaml
from tests.docs.tables import rows

from matins.domain.schedules.schedule import Schedule
from matins.domain.timetables.compiling import compile_schedule, job_problems

ANCHOR = datetime(2026, 1, 1, tzinfo=UTC)


def read(text: str) -> Schedule:
    return msgspec.convert(yaml.safe_load(text), Schedule)


DUE = rows("schedules.md", "| schedule | after | due |")
CHANGES = rows("clock-changes.md", "| schedule | after | due |")
REFUSED = rows("schedules.md", "| schedule | field | the message contains |")
MACROS = rows("schedules.md", "| macro | unix | jenkins |")


@pytest.mark.parametrize(("text", "after", "due"), DUE + CHANGES)
def test_example_is_due_as_the_page_says(text: str, after: str, due: str) -> None:
    table = compile_schedule(read(text), seed="job", anchor=ANCHOR)
    instant: datetime | None = datetime.fromisoformat(after)
    for wanted in due.split(", "):
        assert instant is not None
        instant = table.next_after(instant)
        assert instant == (None if wanted == "never" else datetime.fromisoformat(wanted))


@pytest.mark.parametrize(("text", "field", "message"), REFUSED)
def test_example_is_refused_as_the_page_says(text: str, field: str, message: str) -> None:
    found = job_problems(read(text))
    assert [problem.where for problem in found] == [field]
    assert message in found[0].message


@pytest.mark.parametrize("cells", MACROS)
def test_macro_means_what_the_page_says(cells: list[str]) -> None:
    for macro in cells[0].split("`, `"):
        for text, dialect in ((cells[1], "unix"), (cells[2], "jenkins")):
            short = msgspec.convert({"cron": macro, "dialect": dialect}, Schedule)
            long = msgspec.structs.replace(short, cron=text)
            dues = [
                compile_schedule(schedule, seed="job", anchor=ANCHOR).next_after(ANCHOR)
                for schedule in (short, long)
            ]
            assert dues[0] == dues[1]


def test_the_pages_have_many_examples() -> None:
    assert len(DUE) > 20
    assert len(REFUSED) > 10


@pytest.mark.parametrize(
    "zone",
    [
        "Europe/Berlin",
        "America/New_York",
        "Australia/Lord_Howe",
        "Africa/Casablanca",
        "America/Sao_Paulo",
    ],
)
def test_the_page_on_clock_changes_shows_a_zone_it_promises(zone: str) -> None:
    assert sum(zone in cells[0] for cells in CHANGES) > 2


@pytest.mark.parametrize("choice", ["gap: skip", "gap: run_after", "overlap: second"])
def test_the_page_on_clock_changes_shows_a_choice_of_the_job(choice: str) -> None:
    assert any(choice in cells[0] for cells in CHANGES)
