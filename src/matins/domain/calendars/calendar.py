"""A team's named set of dates and times at which jobs are not to run, as its owner writes it."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from functools import partial
from typing import ClassVar, Final

import msgspec

from matins.domain.calendars.conditions import (
    ALL_WEEK,
    is_yearly,
    listed,
    parse_dates,
    parse_span,
    parse_times,
    parse_weekdays,
    parse_yearly,
    weekday_bits,
)
from matins.domain.time.zones import Zone, find_zone, zone_names
from matins.domain.values.errors import InvalidInputError, Problem, ScheduleError
from matins.domain.values.names import name_problems
from matins.domain.values.texts import nul_problems

ENTRIES_MAX: Final = 10_000
"""The most items, dates, weekdays, times and spans of one calendar, all counted together."""
FILE_MAX: Final = 256 * 1024
LABEL_MAX: Final = 200
_DESCRIPTION_MAX: Final = 2000

Check = tuple[str, Callable[[], object]]
"""A field and what raises ScheduleError if it is wrong."""


class Holidays(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The holidays of a country (ISO 3166), of a part of it, or of a financial market (ISO 10383).

    Without `categories` it is the public ones.
    """

    EXAMPLE: ClassVar[str] = "{country: DE}"

    country: str | None = None
    subdivision: str | None = None
    market: str | None = None
    categories: list[str] = []


class Item(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Dates and times: whatever meets all the conditions that are set.

    `times` that go past midnight belong to the day on which they begin. `spans` have an inclusive
    start and an exclusive end. `holidays` goes alone or with times, `spans` and `icalendar` (the
    text of a file) go alone; `include_free` takes events of a file, too, that its owner marked as
    free. An empty list is met by nothing. `label` is told in reasons.
    """

    EXAMPLE: ClassVar[str] = "{dates: 2026-12-24}"

    dates: str | list[str] | None = None
    weekdays: str | list[str] | None = None
    times: str | list[str] | None = None
    spans: str | list[str] | None = None
    holidays: Holidays | None = None
    icalendar: str | None = None
    include_free: bool = False
    label: str = ""

    @property
    def is_resolved(self) -> bool:
        """Whether it is the same whatever is known of holidays and of other formats."""
        return self.holidays is None and self.icalendar is None


class Calendar(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """When jobs are not to run: at what is excluded, and outside all of `only`, if it has any.

    `timezone` is where dates and times are read. `weekend` are the days that are never business
    days; by itself it closes nothing.
    """

    EXAMPLE: ClassVar[str] = "{name: closing, exclude: [{dates: 2026-12-24}]}"

    name: str
    description: str = ""
    timezone: str = "UTC"
    exclude: list[Item] = []
    only: list[Item] = []
    weekend: str | list[str] = "sat-sun"

    def problems(self) -> list[Problem]:
        """Return all that is wrong with it, with paths such as `exclude[2].dates`."""
        problems = name_problems("name", self.name)
        for where, check in _checks(self):
            try:
                check()
            except ScheduleError as error:
                problems.append(Problem(where, str(error)))
        return problems + nul_problems(self)


def entry_count(calendar: Calendar) -> int:
    """Count what a calendar holds, for its limit."""
    items = [*calendar.exclude, *calendar.only]
    conditions = [
        condition
        for item in items
        for condition in (item.dates, item.weekdays, item.times, item.spans)
    ]
    return len(items) + sum(len(listed(condition)) for condition in conditions)


def _checks(calendar: Calendar) -> Iterator[Check]:
    zone = find_zone(calendar.timezone if calendar.timezone in zone_names() else "UTC")
    yield "description", partial(_check_length, calendar.description, _DESCRIPTION_MAX)
    yield "timezone", partial(find_zone, calendar.timezone)
    yield from _each("weekend", calendar.weekend, parse_weekdays)
    yield "weekend", partial(_check_weekend, calendar.weekend)
    if (count := entry_count(calendar)) > ENTRIES_MAX:
        yield "", partial(_refuse, f"has {count} entries; write at most {ENTRIES_MAX}")
        return
    for name, items in (("exclude", calendar.exclude), ("only", calendar.only)):
        for index, item in enumerate(items):
            for where, check in _item_checks(item, zone):
                yield f"{name}[{index}].{where}".rstrip("."), check


def _item_checks(item: Item, zone: Zone) -> Iterator[Check]:
    yield "", partial(_check_conditions, item)
    yield from _each("dates", item.dates, _parse_any_dates)
    yield from _each("weekdays", item.weekdays, parse_weekdays)
    yield from _each("times", item.times, parse_times)
    yield from _each("spans", item.spans, partial(parse_span, zone=zone))
    if item.holidays is not None:
        yield "holidays", partial(_check_holidays, item.holidays)
    if item.icalendar is not None:
        yield "icalendar", partial(_check_file, item.icalendar)
    yield "label", partial(_check_length, item.label, LABEL_MAX)


def _each(
    where: str, value: str | list[str] | None, parse: Callable[[str], object]
) -> Iterator[Check]:
    """Yield the checks of a condition: one for its text, or one for each text of its list."""
    if isinstance(value, str):
        yield where, partial(parse, value)
    for index, text in enumerate(value if isinstance(value, list) else []):
        yield f"{where}[{index}]", partial(parse, text)


def check_known(team: str, names: Sequence[str], known: Container[str]) -> None:
    """Raise InvalidInputError unless a team has all the calendars that a schedule names."""
    if missing := [name for name in names if name not in known]:
        message = f"team {team} has no calendar {missing[0]!r}; put it first"
        raise InvalidInputError.at("schedule.calendars", message)


def _parse_any_dates(text: str) -> None:
    if is_yearly(text):
        parse_yearly(text)
    else:
        parse_dates(text)


def _check_conditions(item: Item) -> None:
    fields = ("dates", "weekdays", "times", "spans", "holidays", "icalendar")
    conditions = [name for name in fields if getattr(item, name) is not None]
    if not conditions:
        raise ScheduleError("has no condition; write dates, weekdays, times, spans, holidays, …")
    alone = {"spans", "icalendar"}.intersection(conditions)
    if alone and len(conditions) > 1:
        raise ScheduleError(f"has {' and '.join(conditions)}; {alone.pop()} goes alone")
    if item.include_free and item.icalendar is None:
        raise ScheduleError("has include_free, which goes with icalendar only; leave it out")
    if "holidays" in conditions and not {"holidays", "times"}.issuperset(conditions):
        raise ScheduleError(f"has {' and '.join(conditions)}; holidays goes alone or with times")


def _check_holidays(holidays: Holidays) -> None:
    if (holidays.country is None) == (holidays.market is None):
        raise ScheduleError("takes exactly one of country and market")


def _check_file(text: str) -> None:
    if (size := len(text.encode(errors="replace"))) > FILE_MAX:
        raise ScheduleError(f"is {size} bytes long; give at most {FILE_MAX}")


def _check_length(text: str, most: int) -> None:
    if len(text) > most:
        raise ScheduleError(f"is longer than {most} characters")


def _check_weekend(weekend: str | list[str]) -> None:
    try:
        days = weekday_bits(listed(weekend))
    except ScheduleError:
        return  # told of already
    if days == ALL_WEEK:
        raise ScheduleError("takes all seven days; leave at least one for business")


def _refuse(message: str) -> None:
    raise ScheduleError(message)
