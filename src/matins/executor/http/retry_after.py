"""For how long a target asks not to be called again: `Retry-After` (RFC 9110, 10.2.3)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_SECONDS = re.compile(r"\d{1,10}", re.ASCII)


def asked_wait_s(headers: Mapping[str, str]) -> float:
    """Return the seconds that an answer's headers, by lower-case name, ask for; 0 if for none.

    A date is counted from the answer's own `Date`: the clock of whoever wrote both. What can't be
    read asks for nothing.
    """
    text = headers.get("retry-after", "")
    if _SECONDS.fullmatch(text):
        return float(text)
    until, now = _instant(text), _instant(headers.get("date", ""))
    return max(0.0, (until - now).total_seconds()) if until and now else 0.0


def _instant(text: str) -> datetime | None:
    try:
        read = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    return read if read.tzinfo else read.replace(tzinfo=UTC)
