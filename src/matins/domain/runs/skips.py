"""Why schedulers skip due times, in a word each: by what their reasons begin with."""

from __future__ import annotations

from typing import Final

_BEGINNINGS: Final = {
    "overlap:": "overlap",
    "misfire:": "misfire",
    "restore:": "restore",
    "upstream ": "upstream",
    "maintenance ": "window",
    "skipped by an override": "override",
    "calendar ": "calendar",
}

SKIP_KINDS: Final = (*_BEGINNINGS.values(), "other")


def skip_kind(reason: str) -> str:
    """Return the kind of a reason, one of `SKIP_KINDS`."""
    for beginning, kind in _BEGINNINGS.items():
        if reason.startswith(beginning):
            return kind
    return "other"
