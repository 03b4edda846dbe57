"""The icalendar library's readers of lines and values, which have no types of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from icalendar.parser import Contentline
from icalendar.prop import vDDDTypes, vUTCOffset

content_line: Final[Callable[[str], Contentline]] = Contentline
"""Takes an unfolded line; its `parts()` raises ValueError for what is none."""

read_value: Final[Callable[[str], object]] = vDDDTypes.from_ical
"""Reads a date, a datetime (aware if it is UTC), a timedelta or a pair; raises ValueError."""

read_utc_offset: Final[Callable[[str], object]] = vUTCOffset.from_ical
"""Reads an offset such as +0100 as a timedelta; raises ValueError."""
