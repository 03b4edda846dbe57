"""One cron field's plain items (`5`, `1-5`, `*/15`, `MON`, `H(0-29)/10`) as a set of bits."""

from __future__ import annotations

import re
from typing import Final

import msgspec
from msgspec.structs import replace

from matins.domain.values.errors import ScheduleError
from matins.domain.values.hashing import stable_number

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_DIGITS = "0123456789"
_NUMBER = re.compile(r"0*(\d{1,4})", re.ASCII)
_HASHED = re.compile(r"H(?:\((\w{1,4})-(\w{1,4})\))?(?:/(.*))?", re.ASCII)


class Field(msgspec.Struct, frozen=True):
    """What a field may hold: numbers from `low` to `high`, `size` of them distinct, and names.

    `values` has the usual spellings of each value, `bits` those items that need no reading.
    """

    name: str
    low: int
    high: int
    size: int
    hash_high: int
    names: dict[str, int]
    values: dict[str, int]
    bits: dict[str, int]
    wraps: bool = False


def _field(
    name: str, low: int, high: int, size: int, hash_high: int, names: tuple[str, ...] = ()
) -> Field:
    named = {text: value for value, text in enumerate(names, low)}
    numbers = range(low, high + 1)
    values = {f"{number:0{width}}": number for width in (1, 2) for number in numbers} | named
    bits = {text: 1 << value for text, value in values.items()}
    bits |= {f"*/{step}": _span(low, high, step) for step in range(1, size + 1)}
    bits["*"] = bits["*/1"]
    return Field(name, low, high, size, hash_high, named, values, bits)


def _span(low: int, high: int, step: int) -> int:
    if step == 1:
        return (2 << high) - (1 << low)
    bits = 0
    for value in range(low, high + 1, step):
        bits |= 1 << value
    return bits


SECOND: Final = _field("second", 0, 59, 60, 59)
MINUTE: Final = _field("minute", 0, 59, 60, 59)
HOUR: Final = _field("hour", 0, 23, 24, 23)
DAY: Final = _field("day-of-month", 1, 31, 31, 28)
MONTH: Final = _field("month", 1, 12, 12, 12, _MONTHS)
WEEKDAY: Final = _field("day-of-week", 0, 7, 7, 6, _WEEKDAYS)
YEAR: Final = _field("year", 1970, 2099, 130, 2099)

UNIX_FIELDS: Final = (SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY)
QUARTZ_FIELDS: Final = tuple(
    replace(field, wraps=True)
    for field in (*UNIX_FIELDS[:5], _field("day-of-week", 1, 7, 7, 7, _WEEKDAYS))
)


def refuse(field: Field, text: str, message: str) -> ScheduleError:
    """Make the error that names the field and the characters that are wrong."""
    excerpt = text if len(text) <= 40 else text[:37] + "..."
    return ScheduleError(f"{field.name} field: {excerpt!r} {message}")


def parse_items(field: Field, text: str, seed: str) -> int:
    """Read a list of plain items; bit `n` of the result stands for the value `n`."""
    bits = field.bits.get(text)
    if bits is None:
        bits = 0
        for item in text.split(","):
            bits |= parse_item(field, item, seed)
    return bits


def parse_item(field: Field, item: str, seed: str) -> int:
    """Read one plain item, or raise ScheduleError."""
    if item in field.bits:
        return field.bits[item]
    if not item:
        raise refuse(field, item, f"has no value; {_allowed(field)}")
    if item[0] == "H" and item not in field.names:
        return _parse_hashed(field, item, seed)
    base, slash, step_text = item.partition("/")
    step = _parse_step(field, item, step_text) if slash else 1
    if base == "*":
        return _span(field.low, field.high, step)
    low_text, dash, high_text = base.partition("-")
    low = parse_value(field, low_text, item)
    if dash:
        high = parse_value(field, high_text, item)
        return _range(field, item, (low, high), step)
    return _span(low, field.high, step) if slash else 1 << low


def parse_value(field: Field, text: str, item: str) -> int:
    """Read one number or name; `item` is what the error quotes."""
    if text in field.values:
        return field.values[text]
    if text == "?":
        raise refuse(field, item, "stands for a day field of dialect quartz only; write *")
    match = _NUMBER.fullmatch(text)
    if not match:
        if not text or text.strip(_DIGITS):
            raise refuse(field, item, f"can't be read; {_allowed(field)}")
        raise refuse(field, item, f"is out of range; {_allowed(field)}")
    value = int(match[1])
    if not field.low <= value <= field.high:
        raise refuse(field, item, f"is out of range; {_allowed(field)}")
    return value


def _range(field: Field, item: str, ends: tuple[int, int], step: int) -> int:
    low, high = ends
    if low <= high:
        return _span(low, high, step)
    if field.wraps:
        size = field.high - field.low + 1
        steps = range(low, high + size + 1, step)
        return sum({1 << (value if value <= field.high else value - size) for value in steps})
    if field.low == 0 and field.names and item.partition("/")[0].endswith("-SUN"):
        return _span(low, 7, step)
    names = {number: name for name, number in field.names.items()}
    last = max(names, default=field.high)
    parts = [
        (names.get(first, first), names.get(end, end))
        for first, end in ((low, last), (field.low, high))
        if first <= end  # 7 is Sunday, as 0 is
    ]
    right = ",".join(f"{first}" if first == end else f"{first}-{end}" for first, end in parts)
    raise refuse(field, item, f"runs backwards; write {right}")


def _parse_step(field: Field, item: str, text: str) -> int:
    match = _NUMBER.fullmatch(text)
    step = int(match[1]) if match else 0
    if not text or text.strip(_DIGITS):
        raise refuse(field, item, "has a step that is no whole number; write a step such as /5")
    if not 1 <= step <= field.size:
        raise refuse(field, item, f"has a step outside 1 to {field.size}; write a step such as /5")
    return step


def _parse_hashed(field: Field, item: str, seed: str) -> int:
    match = _HASHED.fullmatch(item)
    if not match:
        raise refuse(field, item, "can't be read; write H, H(0-29), H/10 or H(0-29)/10")
    low, high = field.low, field.hash_high
    if match[1]:
        low, high = (parse_value(field, end, item) for end in match.group(1, 2))
        if low > high:
            raise refuse(field, item, f"runs backwards; write H({high}-{low})")
    count = high - low + 1
    if match[3] is None:
        return 1 << low + stable_number(count, seed, field.name)
    step = _parse_step(field, item, match[3])
    return _span(low + stable_number(min(step, count), seed, field.name), high, step)


def members(bits: int) -> list[int]:
    """Return the values whose bits are set, in order."""
    numbers = []
    while bits:
        low = bits & -bits
        numbers.append(low.bit_length() - 1)
        bits ^= low
    return numbers


def _allowed(field: Field) -> str:
    named = f" or {next(iter(field.names))} to {list(field.names)[-1]}" if field.names else ""
    return f"write {field.low} to {field.high}{named}, such as {field.low}, * or */2"
