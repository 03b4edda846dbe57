"""A schedule as people type it in one field: of which kind it is follows from how it looks."""

from __future__ import annotations

import re
from typing import Any, Final

from matins.domain.schedules.schedule import Schedule
from matins.domain.values.durations import parse_duration
from matins.domain.values.errors import InvalidInputError, ScheduleError
from matins.domain.values.reading import read_value
from matins.kernel.documents import read_document

TEXT_MAX: Final = 16 * 1024
"""The longest schedule that is read here, in characters."""

_RULE: Final = re.compile(r"(?:RRULE:|DTSTART|.*\bFREQ=)", re.IGNORECASE | re.DOTALL)
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_KEY: Final = re.compile(r"\s*(?:\{|-?\s*[a-z_]+:(?:\s|$))", re.MULTILINE)


def read_schedule(text: str, timezone: str) -> Schedule:
    """Read a schedule: YAML, a rule, moments, a length of time, or cron.

    The zone is that of the schedule unless it names one itself. Raises InvalidInputError.
    """
    text = text.strip()
    if len(text) > TEXT_MAX:
        raise InvalidInputError.at("", f"is longer than {TEXT_MAX} characters")
    return read_value({"timezone": timezone, **_values(text)}, Schedule)


def _values(text: str) -> dict[str, Any]:
    if _RULE.match(text) and not _KEY.match(text):
        return {"rrule": text}
    if _DATE.match(text):
        return {"at": [line.strip() for line in re.split(r"[,\n]", text) if line.strip()]}
    if _is_length(text.removeprefix("every ").strip()):
        return {"every": text.removeprefix("every ").strip()}
    if _KEY.match(text):
        value = read_document(text).value
        if isinstance(value, dict):
            inner = value.get("schedule", value)
            return inner if isinstance(inner, dict) else {"cron": str(inner)}
    return {"cron": text}


def _is_length(text: str) -> bool:
    try:
        parse_duration(text)
    except ScheduleError:
        return False
    return True
