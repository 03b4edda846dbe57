"""Replaces what others know, holidays and iCalendar files, by dates and spans.

What is stored is the result, so that it never changes with the version of a library.
"""

from __future__ import annotations

import msgspec

from matins.domain.calendars.calendar import Calendar, Item
from matins.domain.time.zones import find_zone
from matins.domain.values.errors import InvalidInputError, Problem, ScheduleError, below, check


def resolve(calendar: Calendar, first_year: int, last_year: int) -> Calendar:
    """Return a calendar with its holidays and iCalendar files, in these years, as dates and spans.

    What is resolved stays as it is. Raises InvalidInputError with all that is wrong.
    """
    check(calendar.problems())
    problems: list[Problem] = []
    lists: dict[str, list[Item]] = {"exclude": [], "only": []}
    for name, items in (("exclude", calendar.exclude), ("only", calendar.only)):
        for index, item in enumerate(items):
            try:
                lists[name] += _resolve(item, calendar.timezone, first_year, last_year)
            except InvalidInputError as error:
                problems += below(f"{name}[{index}]", error.problems)
    check(problems)
    resolved = msgspec.structs.replace(calendar, exclude=lists["exclude"], only=lists["only"])
    check(resolved.problems())  # there may be too much of it
    return resolved


def _resolve(item: Item, timezone: str, first_year: int, last_year: int) -> list[Item]:
    """Return the items that stand for one item.

    The libraries that know of them are loaded here: that takes as long as all the rest of a
    scheduler, which is to claim soon after its start and rarely needs them.
    """
    if item.holidays is not None:
        from matins.domain.calendars.holiday_items import holiday_items  # noqa: PLC0415

        return holiday_items(item, item.holidays, range(first_year, last_year + 1))
    if item.icalendar is not None:
        from matins.domain.calendars.ics.importing import import_items  # noqa: PLC0415

        try:
            return import_items(item, find_zone(timezone), first_year, last_year)
        except ScheduleError as error:
            raise InvalidInputError.at("icalendar", str(error)) from error
    return [item]
