"""Reads cron expressions in the dialects `unix` (as in Debian's cron), `quartz` and `jenkins`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal

from matins.domain.schedules.cron.days import (
    DayRule,
    Days,
    all_of,
    any_of,
    last_day,
    last_weekday,
    nearest_workday,
    nearest_workday_to_last,
    nth_weekday,
    plain_days,
    weekdays,
)
from matins.domain.schedules.cron.fields import (
    DAY,
    QUARTZ_FIELDS,
    UNIX_FIELDS,
    YEAR,
    Field,
    members,
    parse_item,
    parse_items,
    parse_value,
    refuse,
)
from matins.domain.schedules.cron.pattern import Pattern
from matins.domain.values.errors import ScheduleError

Dialect = Literal["unix", "quartz", "jenkins"]

LENGTH_MAX: Final = 1_000
_SHARED_MAX: Final = 16_384
_MACROS: Final = {
    "@YEARLY": "0 0 1 1 *",
    "@ANNUALLY": "0 0 1 1 *",
    "@MONTHLY": "0 0 1 * *",
    "@WEEKLY": "0 0 * * 0",
    "@DAILY": "0 0 * * *",
    "@MIDNIGHT": "0 0 * * *",
    "@HOURLY": "0 * * * *",
}
_JENKINS_MACROS: Final = {
    "@YEARLY": "H H H H *",
    "@ANNUALLY": "H H H H *",
    "@MONTHLY": "H H H * *",
    "@WEEKLY": "H H * * H",
    "@DAILY": "H H * * *",
    "@MIDNIGHT": "H H(0-2) * * *",
    "@HOURLY": "H * * * *",
}
_COUNTS: Final = {
    "unix": ((5, 6), "5 fields (minute hour day month weekday), or 6 with the second first"),
    "jenkins": ((5,), "5 fields (minute hour day month weekday)"),
    "quartz": ((6, 7), "6 fields (second minute hour day month weekday), or 7 with the year last"),
}
_STRANGE = re.compile(r"[^!-~ \t\r\n]")
_LAST_DAY = re.compile(r"L(?:-0*(\d{1,2}))?(W?)", re.ASCII)
_WORKDAY = re.compile(r"0*(\d{1,2})W", re.ASCII)


def is_hashed(expression: str, dialect: Dialect) -> bool:
    """Return whether the expression may hold an `H`, so that it differs from job to job."""
    text = expression.upper().lstrip()
    if text.startswith("@"):
        return dialect == "jenkins"
    return "H" in text.replace("THU", "")


def parse_cron(expression: str, dialect: Dialect, seed: str) -> Pattern:
    """Compile a cron expression; `seed` (the job's id) chooses the values of `H`.

    Raises ScheduleError if it can't be read, or if no day of any year can match.
    """
    second, minute, hour, day, month, weekday, year = _split(expression, dialect)
    # What has an H may differ from job to job; a THU counts as one, which only costs time.
    own = "H" in day or "H" in month or "H" in weekday or "H" in year
    days = (_days if own else _shared_days)(dialect, day, month, weekday, year, seed if own else "")
    fields = QUARTZ_FIELDS if dialect == "quartz" else UNIX_FIELDS
    return Pattern(
        parse_items(fields[0], second, seed),
        parse_items(fields[1], minute, seed),
        parse_items(fields[2], hour, seed),
        days,
        is_fixed=minute[0] != "*" and hour[0] != "*",
    )


def _days(dialect: Dialect, day: str, month: str, weekday: str, year: str, seed: str) -> Days:
    """Read the fields that choose days. Raises ScheduleError if no day of any year matches."""
    fields = QUARTZ_FIELDS if dialect == "quartz" else UNIX_FIELDS
    months = parse_items(fields[4], month, seed) >> 1
    years = None if year == "*" else tuple(members(parse_items(YEAR, year, seed)))
    days = Days(_day_rule(day, weekday, dialect, fields, seed), months, years)
    if not days.can_come():
        raise ScheduleError(_never(day, month, weekday, year))
    return days


_shared_days = lru_cache(maxsize=_SHARED_MAX)(_days)
"""The days of expressions without `H`, many of which choose the same ones."""


def _split(expression: str, dialect: Dialect) -> list[str]:
    """Return the seven fields in upper case, from second to year."""
    if len(expression) > LENGTH_MAX:
        raise ScheduleError(f"the expression has over {LENGTH_MAX} characters; write a shorter one")
    if strange := _STRANGE.search(expression):
        raise ScheduleError(f"{strange[0]!r} can't stand in a cron expression; write plain ASCII")
    texts = expression.upper().split()
    if texts and texts[0].startswith(("TZ=", "CRON_TZ=")):
        raise ScheduleError(f"{expression[:40]!r} starts with a zone; write it into timezone")
    if texts and texts[0].startswith("@"):
        texts = _expand(texts, dialect)
    counts, meaning = _COUNTS[dialect]
    if len(texts) not in counts:
        count = "1 field" if len(texts) == 1 else f"{len(texts)} fields"
        quartz = "; seven fields need dialect: quartz" if len(texts) == 7 else ""
        raise ScheduleError(f"the expression has {count}; {dialect} takes {meaning}{quartz}")
    if len(texts) == 5:
        return ["0", *texts, "*"]
    return [*texts, "*"] if len(texts) == 6 else texts


def _expand(texts: list[str], dialect: Dialect) -> list[str]:
    macro = texts[0]
    if macro == "@REBOOT":
        raise ScheduleError("'@reboot' is no time at which a job could be due; trigger the job")
    known = _JENKINS_MACROS if dialect == "jenkins" else _MACROS
    if dialect == "quartz" or macro not in known:
        names = ", ".join(known).lower() if dialect != "quartz" else "six fields, without macros"
        raise ScheduleError(f"{macro[:40].lower()!r} is not a macro of {dialect}; write {names}")
    if len(texts) > 1:
        raise ScheduleError(f"{texts[1][:40]!r} follows a macro; write the macro alone")
    return known[macro].split()


def _day_rule(
    day: str, weekday: str, dialect: Dialect, fields: tuple[Field, ...], seed: str
) -> DayRule | None:
    """Combine the two day fields; None allows every day."""
    if dialect == "quartz":
        if (day == "?") == (weekday == "?"):
            raise refuse(DAY, day, "and the day-of-week field need exactly one '?' between them")
        day, weekday = ("*" if text == "?" else text for text in (day, weekday))
    by_day = None if day == "*" else _month_days(day, fields[3], seed)
    by_weekday = None if weekday == "*" else _week_days(weekday, fields[5], seed)
    if by_day is None or by_weekday is None:
        return by_day or by_weekday
    # Vixie's rule: a star at the start of either field makes both count, else one is enough.
    if day[0] == "*" or weekday[0] == "*":
        return all_of(by_day, by_weekday)
    return any_of([by_day, by_weekday])


def _month_days(text: str, field: Field, seed: str) -> DayRule:
    plain, rules = 0, list[DayRule]()
    for item in text.split(","):
        special = _special_day(text, item, field) if "L" in item or "W" in item else None
        if special:
            rules.append(special)
        else:
            plain |= parse_item(field, item, seed) >> 1
    return any_of([*rules, plain_days(plain)] if plain else rules)


def _special_day(text: str, item: str, field: Field) -> DayRule | None:
    """Read an item with `L` or `W`; None if it has another form."""
    last, workday = _LAST_DAY.fullmatch(item), _WORKDAY.fullmatch(item)
    if item.endswith("W") and ((not last and not workday) or "," in text):
        raise refuse(field, text, "uses W on more than one day; write 15W or LW alone")
    if last:
        back = int(last[1] or 0)
        if back > 30 or (last[1] and back == 0):
            raise refuse(field, item, "counts back out of the month; write L or L-1 to L-30")
        return nearest_workday_to_last(back) if last[2] else last_day(back)
    return nearest_workday(parse_value(field, workday[1], item)) if workday else None


def _week_days(text: str, field: Field, seed: str) -> DayRule:
    plain, rules = 0, list[DayRule]()
    for item in text.split(","):
        special = _special_weekday(text, item, field) if "L" in item or "#" in item else None
        if special:
            rules.append(special)
        else:
            plain |= parse_item(field, item, seed) >> field.low
    return any_of([*rules, weekdays((plain | plain >> 7) & 0x7F)] if plain else rules)


def _special_weekday(text: str, item: str, field: Field) -> DayRule | None:
    """Read an item with `L` or `#`; None if it has another form."""
    name, mark, number = item.partition("#")
    if mark:
        if number not in {"1", "2", "3", "4", "5"}:
            raise refuse(field, item, "needs a number from 1 to 5 after '#', such as 5#2")
        return nth_weekday(_weekday(field, name, item), int(number))
    if item != "L":
        return last_weekday(_weekday(field, item[:-1], item)) if item.endswith("L") else None
    if text != "L" or field.low == 0:
        raise refuse(field, text, "has an L without a weekday; write 5L for the last Friday")
    return weekdays(1 << 6)


def _weekday(field: Field, text: str, item: str) -> int:
    """Read one weekday: 0 is Sunday, whatever the dialect's own count."""
    return (parse_value(field, text, item) - field.low) % 7


@lru_cache(maxsize=256)
def _never(day: str, month: str, weekday: str, year: str) -> str:
    where = f"day-of-month {day[:40]!r}, month {month[:40]!r}, day-of-week {weekday[:40]!r}"
    when = "" if year == "*" else f", year {year[:40]!r}"
    return f"can never be due: no date has {where}{when}; write a day that its months have"
