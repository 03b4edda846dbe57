"""Calendars as their owners write them, and what is told of those that are wrong."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest
from tests.unit.calendars.written import calendar

from matins.domain.calendars.calendar import ENTRIES_MAX, Calendar, Holidays, Item


def places(given: Calendar) -> list[str]:
    return [problem.where for problem in given.problems()]


def excluding(**conditions: object) -> Calendar:
    return Calendar(name="cal", exclude=[msgspec.convert(conditions, Item)])


def test_a_calendar_is_written_with_the_fields_that_matter_and_no_others() -> None:
    text = b'{"name":"freeze","exclude":[{"dates":"12-24/01-01","label":"Freeze"}]}'
    assert msgspec.json.encode(msgspec.json.decode(text, type=Calendar)) == text
    with pytest.raises(msgspec.ValidationError, match="excludes"):
        msgspec.json.decode(b'{"name":"freeze","excludes":[]}', type=Calendar)


def test_every_form_of_each_condition_is_right() -> None:
    read = calendar(
        """
        timezone: Europe/Berlin
        exclude:
          - dates: ["2026-12-25", 2026-12-24/2026-12-31, 12-25, 12-24/01-01, 02-29]
          - weekdays: [sat, SUN, mon-fri, fri-mon]
          - times: ["12:00-13:00", "22:00-06:00", "00:00-24:00", "23:00-00:00"]
          - {dates: 12-24, weekdays: mon-fri, times: "14:00-24:00", label: Christmas Eve}
          - spans: [2026-12-24T12:00/2026-12-24T18:00, 2026-12-24T12:00Z/2026-12-24T18:00:30+01:00]
          - holidays: {country: DE, subdivision: BE, categories: [public]}
          - {holidays: {market: XNYS}, times: "13:00-24:00"}
        only:
          - dates: []
        weekend: fri-sat
        """
    )
    assert len(read.exclude) == 7


@pytest.mark.parametrize(
    ("conditions", "where", "message"),
    [
        ({}, "", "has no condition"),
        ({"dates": "2026-02-30"}, "dates", "'2026-02-30' does not exist"),
        ({"dates": "02-30"}, "dates", "'02-30' does not exist"),
        ({"dates": "25.12.2026"}, "dates", "write 2026-12-25"),
        ({"dates": ["12-25", "12-2"]}, "dates[1]", "or for every year 12-25"),
        ({"dates": "2026-12-31/2026-12-24"}, "dates", "ends before it begins"),
        ({"dates": "2026-12-24/12-31"}, "dates", "is not a date or a range of dates"),
        ({"weekdays": "saturday"}, "weekdays", "write one of mon, tue"),
        ({"weekdays": "sat,sun"}, "weekdays", "'sat,sun' is not a weekday"),
        ({"weekdays": "sat-"}, "weekdays", "'sat-' is not a weekday"),
        ({"times": "9-17"}, "times", "write it as 12:00-13:00"),
        ({"times": "09:00-25:00"}, "times", "'25:00' is not a time of day"),
        ({"times": "09:60-10:00"}, "times", "'09:60' is not a time of day"),
        ({"times": "12:00-12:00"}, "times", "a whole day is 00:00-24:00"),
        ({"times": "24:00-06:00"}, "times", "has no length"),
        ({"spans": "2026-12-24T12:00"}, "spans", "is not a span"),
        ({"spans": ["2026-12-24T18:00/2026-12-24T12:00"]}, "spans[0]", "ends before it has begun"),
        ({"spans": "2026-12-24/2026-12-25"}, "spans", "is not a date with a time of day"),
        ({"spans": "2026-12-24T12:00/2026-12-24T18:00", "weekdays": "mon"}, "", "spans goes alone"),
        ({"icalendar": "", "times": "12:00-13:00"}, "", "icalendar goes alone"),
        ({"holidays": {"country": "DE"}, "dates": "12-25"}, "", "goes alone or with times"),
        ({"holidays": {}}, "holidays", "exactly one of country and market"),
        ({"holidays": {"country": "DE", "market": "XNYS"}}, "holidays", "exactly one"),
        ({"icalendar": "ä" * 131_073}, "icalendar", "is 262146 bytes long; give at most 262144"),
        ({"dates": "12-25", "include_free": True}, "", "goes with icalendar only"),
        ({"dates": "12-25", "label": "x" * 201}, "label", "longer than 200"),
    ],
)
def test_a_wrong_item_has_one_problem_at_its_place(
    conditions: dict[str, object], where: str, message: str
) -> None:
    (problem,) = excluding(**conditions).problems()
    assert problem.where == f"exclude[0].{where}".rstrip(".")
    assert message in problem.message


def test_all_problems_are_told_at_once() -> None:
    wrong = Calendar(
        name="Holidays!",
        description="x" * 2001,
        timezone="Europa/Berlin",
        exclude=[Item(dates="12-25"), Item(dates=["12-32", "13-01"])],
        only=[Item(times="noon")],
        weekend=["sat", "sunday"],
    )
    assert places(wrong) == [
        "name",
        "description",
        "timezone",
        "weekend[1]",
        "exclude[1].dates[0]",
        "exclude[1].dates[1]",
        "only[0].times",
    ]


def test_a_week_needs_a_business_day() -> None:
    (problem,) = Calendar(name="cal", weekend=["mon-thu", "fri-sun"]).problems()
    assert problem.where == "weekend"
    assert "leave at least one" in problem.message
    assert places(Calendar(name="cal", weekend=[])) == []


def test_a_calendar_is_not_bigger_than_its_limit() -> None:
    dates = ["2026-12-25"] * (ENTRIES_MAX - 1)
    assert places(excluding(dates=dates)) == []
    (problem,) = excluding(dates=[*dates, "2026-12-26"]).problems()
    assert f"has {ENTRIES_MAX + 1} entries; write at most {ENTRIES_MAX}" in problem.message


def test_no_text_of_a_calendar_holds_a_nul_character() -> None:
    assert places(excluding(dates="12-25", label="a\0b")) == [""]
    assert places(excluding(dates="12-25", label="a\\u0000b")) == []


def test_only_items_without_holidays_and_files_are_resolved() -> None:
    assert Item(dates="12-25").is_resolved
    assert not Item(holidays=Holidays(country="DE")).is_resolved
    assert not Item(icalendar="").is_resolved


@pytest.mark.parametrize(
    ("modules", "libraries"),
    [
        (
            "matins.domain.calendars.compiled, matins.domain.timetables.calendar_rule",
            {"holidays", "icalendar", "dateutil"},
        ),
        ("matins.roles.scheduler", {"holidays", "icalendar"}),
    ],
)
def test_calendars_are_read_and_compiled_without_the_libraries_that_resolve_them(
    modules: str, libraries: set[str]
) -> None:
    code = f"import {modules}, sys; print({libraries!r} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert shown.stdout == "set()\n"
