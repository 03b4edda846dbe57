"""Takes a sentence about a cron schedule at its word, as a person would: which wall times it names.

It knows nothing of cron. What it does not understand is an error, never a guess.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from datetime import datetime

Claim = Callable[[datetime], bool]

WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MONTHS = list(calendar.month_name)
PLACES = ["first", "second", "third", "fourth", "fifth"]
WORKDAY = r"weekday \(Monday to Friday, same month\)"


def understand(sentence: str) -> Claim:
    """Return what a sentence claims, for any wall time."""
    rest = sentence.removesuffix(" (chosen from the job's id)")
    claims: list[Claim] = []
    for pattern, read in (
        (r", every (\d+) years from (\d+) to (\d+)$", _stepped_years),
        (r", only in ((?:\d{4}(?: to \d{4})?(?:, | and )?)+)$", _years),
        (r", only in (.*)$", _months),
        (r", every day$", lambda: lambda _wall: True),
        (r", (on .*)$", _days),
    ):
        if match := re.search(pattern, rest):
            claims.append(read(*match.groups()))
            rest = rest[: match.start()]
    claims.append(_time(rest))
    return lambda wall: all(claim(wall) for claim in claims)


def _words(text: str) -> list[str]:
    return re.split(r" and |, ", text)


def _numbers(text: str) -> set[int]:
    found: set[int] = set()
    for word in _words(text):
        first, _, last = word.partition(" to ")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def _years(text: str) -> Claim:
    years = _numbers(text)
    return lambda wall: wall.year in years


def _stepped_years(step: str, first: str, last: str) -> Claim:
    return lambda wall: wall.year in range(int(first), int(last) + 1, int(step))


def _months(text: str) -> Claim:
    months: set[int] = set()
    for word in _words(text):
        first, _, last = word.partition(" to ")
        months |= set(range(MONTHS.index(first), MONTHS.index(last or first) + 1))
    return lambda wall: wall.month in months


def _days(text: str) -> Claim:
    if match := re.fullmatch(r"(on .*) or (on .*) \(either is enough\)", text):
        left, right = (_day_list(part) for part in match.groups())
        return lambda wall: left(wall) or right(wall)
    if match := re.fullmatch(r"(on .*) and (on .*) \(both must hold\)", text):
        left, right = (_day_list(part) for part in match.groups())
        return lambda wall: left(wall) and right(wall)
    return _day_list(text)


def _day_list(text: str) -> Claim:
    inner = text.removeprefix("on ").removesuffix(" of the month")
    # The comma in "(Monday to Friday, same month)" joins no words.
    words = re.split(r"(?:, (?!same)| and )", inner)
    claims = [_day(word.removeprefix("the ")) for word in words]
    return lambda wall: any(claim(wall) for claim in claims)


def _day(word: str) -> Claim:
    if match := re.fullmatch(r"(\d+)(?:st|nd|rd|th)(?: to (\d+)(?:st|nd|rd|th))?", word):
        first, last = int(match[1]), int(match[2] or match[1])
        return lambda wall: first <= wall.day <= last
    if match := re.fullmatch(r"every (\d+)\w\w day from the (\d+)\w\w to the (\d+)\w\w", word):
        step, first, last = map(int, match.groups())
        return lambda wall: wall.day in range(first, last + 1, step)
    if match := re.fullmatch(r"(\w+day)(?: to (\w+day))?", word):
        start, end = (WEEKDAYS.index(name) for name in (match[1], match[2] or match[1]))
        return lambda wall: start <= wall.weekday() <= end
    if match := re.fullmatch(r"(\w+) (\w+day)", word):
        return _nth(match[1], WEEKDAYS.index(match[2]))
    return _from_the_end(word)


def _nth(place: str, weekday: int) -> Claim:
    if place == "last":
        return lambda wall: wall.weekday() == weekday and wall.day + 7 > _length(wall)
    number = PLACES.index(place)
    return lambda wall: wall.weekday() == weekday and (wall.day - 1) // 7 == number


def _from_the_end(word: str) -> Claim:
    if word == "last day":
        return lambda wall: wall.day == _length(wall)
    if match := re.fullmatch(r"day (\d+) days? before the last day", word):
        back = int(match[1])
        return lambda wall: wall.day == _length(wall) - back
    if re.fullmatch(r"last weekday \(Monday to Friday, same month\)", word):
        return lambda wall: _is_nearest_workday(wall, _length(wall))
    if match := re.fullmatch(rf"{WORKDAY} nearest the (\d+)(?:st|nd|rd|th)", word):
        day = int(match[1])
        return lambda wall: _is_nearest_workday(wall, day)
    match = re.fullmatch(rf"{WORKDAY} nearest the day (\d+) days? before the last day", word)
    assert match, f"nobody understands {word!r}"
    before = int(match[1])
    return lambda wall: _is_nearest_workday(wall, _length(wall) - before)


def _length(wall: datetime) -> int:
    return calendar.monthrange(wall.year, wall.month)[1]


def _is_nearest_workday(wall: datetime, day: int) -> bool:
    if not 1 <= day <= _length(wall):
        return False
    workdays = [
        number
        for number in range(1, _length(wall) + 1)
        if calendar.weekday(wall.year, wall.month, number) < 5
    ]
    return wall.day == min(workdays, key=lambda number: abs(number - day))


def _time(text: str) -> Claim:
    if re.fullmatch(r"at [\d:]+(?:(?:, | and )[\d:]+)*", text):
        times = {tuple(map(int, (f"{word}:0").split(":")[:3])) for word in _words(text[3:])}
        return lambda wall: (wall.hour, wall.minute, wall.second) in times
    if match := re.fullmatch(r"at (?:(.*second.*) of )?(.*minute.*) of (.*hour.*)", text):
        seconds, minutes, hours = (_field(part) for part in match.groups(default="second 0"))
        return lambda wall: wall.second in seconds and wall.minute in minutes and wall.hour in hours
    if match := re.fullmatch(r"every minute between (\d\d:\d\d) and (\d\d:\d\d)", text):
        first, last = match.groups()
        return lambda wall: wall.second == 0 and first <= f"{wall:%H:%M}" <= last
    parts = re.split(r", (?=between|every)", text)
    claims = [_time_of_hour(parts[0]), *(_hours(part) for part in parts[1:])]
    return lambda wall: all(claim(wall) for claim in claims)


def _field(text: str) -> set[int]:
    if match := re.fullmatch(r"each \w+ from (\d+) to (\d+) in steps of (\d+)", text):
        first, last, step = map(int, match.groups())
        return set(range(first, last + 1, step))
    each = {"each second": 60, "each minute": 60, "each hour": 24}
    return set(range(each[text])) if text in each else _numbers(text.partition(" ")[2])


def _time_of_hour(text: str) -> Claim:
    if match := re.fullmatch(r"every(?: (\d+))? (second|minute|hour)s?", text):
        step = int(match[1] or 1)
        parts = {"second": 0, "minute": 1, "hour": 2}[match[2]]
        assert (60, 60, 24)[parts] % step == 0, f"{text!r} would be untrue where it begins anew"
        return lambda wall: (
            not any((wall.second, wall.minute)[:parts])
            and (wall.second, wall.minute, wall.hour)[parts] % step == 0
        )
    match = re.fullmatch(r"(?:at|minutes) (.*?)(?: minutes?)? past the hour", text)
    assert match, f"nobody understands {text!r}"
    minutes = _numbers(match[1])
    return lambda wall: wall.second == 0 and wall.minute in minutes


def _hours(text: str) -> Claim:
    if match := re.fullmatch(r"between (\d\d):00 and (\d\d):59", text):
        first, last = map(int, match.groups())
        return lambda wall: first <= wall.hour <= last
    match = re.fullmatch(r"every (\d+) hours", text)
    assert match, f"nobody understands {text!r}"
    step = int(match[1])
    return lambda wall: wall.hour % step == 0
