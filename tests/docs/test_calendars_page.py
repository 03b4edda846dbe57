"""The page on calendars is true: each row of its example tables is run."""

from __future__ import annotations

from datetime import datetime

import msgspec
import pytest
from tests.docs.tables import DOCS, rows

from matins.domain.calendars.calendar import Calendar, Holidays, Item
from matins.domain.calendars.compiled import CompiledCalendar, compile_calendar
from matins.domain.calendars.resolving import resolve
from matins.domain.schedules.cron.clock_changes import cron_rule
from matins.domain.schedules.cron.expression import parse_cron
from matins.domain.schedules.schedule import OnClosed
from matins.domain.time.instants import epoch_s
from matins.domain.time.zones import find_zone
from matins.domain.timetables.calendar_rule import CalendarRule
from matins.domain.values.errors import InvalidInputError
from matins.kernel.documents import read_document

PAGE = "calendars.md"
YEARS = (2026, 2031)
GERMAN = """
name: de
timezone: Europe/Berlin
exclude: [{holidays: {country: DE}}, {weekdays: sat-sun, label: weekend}]
"""


def read(text: str) -> Calendar:
    fields = read_document(text).value
    assert isinstance(fields, dict)
    return msgspec.convert({"name": "cal"} | fields, Calendar)


def closures(text: str) -> CompiledCalendar:
    return compile_calendar(resolve(read(text), *YEARS))


def second(text: str) -> int:
    return epoch_s(datetime.fromisoformat(text))


CLOSED = rows(PAGE, "| calendar | at | it is |")
HOLIDAYS = rows(PAGE, "| holidays | date | label |")
OCCURRENCES = rows(PAGE, "| cron | on_closed | due | reason why it does not run |")
REFUSED = rows(PAGE, "| calendar | field | the message contains |")


@pytest.mark.parametrize(("text", "at", "label"), CLOSED)
def test_example_is_closed_as_the_page_says(text: str, at: str, label: str) -> None:
    assert closures(text).closed(second(at)) == (None if label == "open" else label)


@pytest.mark.parametrize(("text", "date", "label"), HOLIDAYS)
def test_example_is_a_holiday_as_the_page_says(text: str, date: str, label: str) -> None:
    cal = closures(f"exclude: [{{holidays: {text}}}]")
    assert cal.closed(second(f"{date}T12:00Z")) == (None if label == "none" else label)


@pytest.mark.parametrize(("cron", "on_closed", "due", "reason"), OCCURRENCES)
def test_example_is_due_as_the_page_says(
    cron: str, on_closed: OnClosed, due: str, reason: str
) -> None:
    assert GERMAN.strip().splitlines()[-1] in (DOCS / PAGE).read_text("utf-8")
    zone = find_zone("Europe/Berlin")
    base = cron_rule(parse_cron(cron, "unix", ""), zone, None)
    rule = CalendarRule(base, [closures(GERMAN)], on_closed, zone)
    assert rule.next_after(second(due) - 1) == second(due)
    assert rule.skip_reason(second(due)) == reason


@pytest.mark.parametrize(("text", "field", "message"), REFUSED)
def test_example_is_refused_as_the_page_says(text: str, field: str, message: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        resolve(read(text), *YEARS)
    (problem,) = error.value.problems
    assert problem.where == field
    assert message in problem.message


def test_the_page_names_every_field() -> None:
    page = (DOCS / PAGE).read_text("utf-8")
    fields = [
        field.name for kind in (Calendar, Item, Holidays) for field in msgspec.structs.fields(kind)
    ]
    assert [name for name in fields if f"`{name}" not in page] == []
    assert len(CLOSED) + len(HOLIDAYS) + len(OCCURRENCES) + len(REFUSED) > 35
