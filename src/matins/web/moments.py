"""Moments that lie ahead, as people type them into a form."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from matins.domain.time.zones import find_zone
from matins.kernel.moments import parse_moment

_SPAN: Final = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|[wdhms]))+", re.ASCII)


def read_ahead(where: str, text: str, now: datetime) -> datetime | None:
    """Read a moment such as `2h` or `2026-12-01 06:00`, in UTC; None if nothing was typed.

    Raises InvalidInputError.
    """
    text = text.strip().removesuffix("UTC").strip()
    if not text:
        return None
    if _SPAN.fullmatch(text):
        text = f"+{text}"
    return parse_moment(where, text, find_zone("UTC"), now=now)
