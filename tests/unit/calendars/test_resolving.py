"""Holidays become dates, and what is resolved stays as it is."""

from __future__ import annotations

import os
import subprocess
import sys

import msgspec
import pytest
from tests.unit.calendars.written import at, calendar

from matins.domain.calendars.calendar import ENTRIES_MAX, Calendar, Holidays, Item
from matins.domain.calendars.compiled import compile_calendar
from matins.domain.calendars.resolving import resolve
from matins.domain.values.errors import InvalidInputError


def dates(year: int, **fields: object) -> dict[str, str]:
    """Return the holidays of a year: label by date."""
    item = Item(holidays=msgspec.convert(fields, Holidays))
    found = resolve(Calendar(name="cal", exclude=[item]), year, year).exclude
    return {day: item.label for item in found for day in item.dates or ()}


def test_berlin_has_a_holiday_that_brandenburg_has_not() -> None:
    berlin, brandenburg = (
        dates(2026, country="DE", subdivision=subdivision) for subdivision in ("BE", "DE-BB")
    )
    assert berlin["2026-12-25"] == "Christmas Day"
    assert berlin["2026-03-08"] == "Women's Day"
    assert "2026-03-08" not in brandenburg
    assert set(berlin) == {
        *("2026-01-01", "2026-03-08", "2026-04-03", "2026-04-06", "2026-05-01", "2026-05-14"),
        *("2026-05-25", "2026-10-03", "2026-12-25", "2026-12-26"),
    }


def test_a_holiday_of_the_united_states_is_observed_on_a_weekday() -> None:
    found = dates(2026, country="US")
    assert found["2026-07-03"] == "Independence Day (observed)"
    assert found["2026-11-26"] == "Thanksgiving Day"


def test_england_has_a_substitute_for_a_holiday_on_a_weekend() -> None:
    found = dates(2026, country="GB", subdivision="ENG")
    assert found["2026-12-28"] == "Boxing Day (observed)"
    assert "2026-11-30" not in found  # Saint Andrew's Day, in Scotland


def test_a_subdivision_may_be_written_by_its_name() -> None:
    england = dates(2026, country="GB", subdivision="England")
    assert england == dates(2026, country="GB", subdivision="ENG")


def test_a_market_has_holidays_of_its_own_and_categories_choose() -> None:
    assert dates(2026, market="XECB")["2026-05-01"] == "Labour Day"
    assert "2026-11-27" not in dates(2026, market="XNYS")
    half = dates(2026, market="XNYS", categories=["half_day"])
    assert set(half) == {"2026-11-27", "2026-12-24"}


def test_holidays_of_one_name_are_one_item_and_keep_their_times() -> None:
    text = "exclude: [{holidays: {country: DE}, times: '14:00-24:00'}]"
    found = resolve(calendar(text), 2026, 2027).exclude
    assert (
        Item(dates=["2026-12-25", "2027-12-25"], times="14:00-24:00", label="Christmas Day")
        in found
    )
    assert len(found) == 9


def test_a_label_of_the_item_stands_for_all_its_holidays() -> None:
    text = "exclude: [{holidays: {country: DE}, label: public holiday}]"
    (found,) = resolve(calendar(text), 2026, 2026).exclude
    assert found.label == "public holiday"
    assert len(found.dates or ()) == 9


def test_years_without_holidays_close_nothing_and_still_allow_nothing() -> None:
    text = "{%s: [{holidays: {country: DE}, times: '00:00-24:00'}]}"
    empty = [Item(dates=[], times="00:00-24:00")]
    assert resolve(calendar(text % "exclude"), 1800, 1801).exclude == empty
    assert resolve(calendar(text % "only"), 1800, 1801).only == empty


def test_a_resolved_calendar_closes_on_holidays() -> None:
    text = """
        {name: de, timezone: Europe/Berlin, exclude: [{holidays: {country: DE, subdivision: BE}}]}
    """
    cal = compile_calendar(resolve(calendar(text), 2026, 2036))
    assert cal.closed(at("2026-12-25T12:00+01:00")) == "Christmas Day"
    assert cal.closed(at("2036-03-08T00:00+01:00")) == "Women's Day"
    assert cal.closed(at("2026-12-24T12:00+01:00")) is None


def test_what_is_resolved_stays_as_it_is() -> None:
    text = """
        timezone: Europe/Berlin
        exclude:
          - {dates: 12-24, label: Christmas Eve}
          - holidays: {country: DE, subdivision: BE}
          - spans: 2026-12-24T12:00/2026-12-24T18:00
        only: [{weekdays: mon-fri}, {holidays: {market: XNYS}}]
    """
    once = resolve(calendar(text), 2026, 2030)
    assert all(item.is_resolved for item in once.exclude + once.only)
    assert resolve(once, 2026, 2030) == once
    assert resolve(once, 2040, 2041) == once
    assert once.exclude[0] == Item(dates="12-24", label="Christmas Eve")


def test_the_names_do_not_follow_the_language_of_the_process() -> None:
    code = (
        "from matins.domain.calendars.resolving import resolve;"
        "from matins.domain.calendars.calendar import Calendar, Holidays, Item;"
        "items = [Item(holidays=Holidays(country=it)) for it in ('DE', 'FR', 'GB', 'JM')];"
        "print([it.label for it in resolve(Calendar('x', exclude=items), 2026, 2026).exclude])"
    )
    shown = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            check=True,
            env={**os.environ, "LANGUAGE": language, "LC_ALL": "C.UTF-8"},
        ).stdout
        for language in ("de", "fr", "en_US")
    }
    assert len(shown) == 1
    assert b"Christmas Day" in shown.pop()


@pytest.mark.parametrize(
    ("fields", "where", "message"),
    [
        ({"country": "Germany"}, "country", "'Germany' is not known; write DE"),
        ({"country": "United Kingdom"}, "country", "write GB"),
        ({"country": "GERM"}, "country", "'GERM' is not known"),
        ({"country": "??"}, "country", "'??' is not known; write one of AD, AE, AF"),
        ({"country": "DE", "subdivision": "BX"}, "subdivision", "write one of Augsburg, BB, BE"),
        ({"country": "JM", "subdivision": "X"}, "subdivision", "JM has none; leave it out"),
        ({"country": "DE", "categories": ["public", "publik"]}, "categories[1]", "write public"),
        ({"country": "DE", "categories": ["bank"]}, "categories[0]", "'bank' is not known"),
        ({"market": "NYSX"}, "market", "'NYSX' is not known; write XNYS"),
    ],
)
def test_what_nobody_knows_is_refused_with_what_is_near(
    fields: dict[str, object], where: str, message: str
) -> None:
    item = Item(holidays=msgspec.convert(fields, Holidays))
    with pytest.raises(InvalidInputError) as error:
        resolve(Calendar(name="cal", only=[Item(dates="12-25"), item]), 2026, 2027)
    (problem,) = error.value.problems
    assert problem.where == f"only[1].holidays.{where}"
    assert message in problem.message
    assert len(problem.message) < 200


def test_all_that_can_t_be_resolved_is_told_at_once() -> None:
    wrong = Calendar(
        name="cal", exclude=[Item(holidays=Holidays(country="XX"))], only=[Item(icalendar="?")]
    )
    with pytest.raises(InvalidInputError) as error:
        resolve(wrong, 2026, 2027)
    places = [problem.where for problem in error.value.problems]
    assert places == ["exclude[0].holidays.country", "only[0].icalendar"]


def test_a_wrong_calendar_is_refused_before_anything_is_resolved() -> None:
    with pytest.raises(InvalidInputError, match="exactly one of country and market"):
        resolve(Calendar(name="cal", exclude=[Item(holidays=Holidays())]), 2026, 2027)


def test_what_becomes_too_big_is_refused() -> None:
    items = [Item(holidays=Holidays(country="DE"))] * 110
    with pytest.raises(InvalidInputError, match=f"entries; write at most {ENTRIES_MAX}"):
        resolve(Calendar(name="cal", exclude=items), 2026, 2036)
