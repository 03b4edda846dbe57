"""What an attempt tells while it runs, on its way from a runner to the relay."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from matins.domain.runs.output import Progress


class News(msgspec.Struct, frozen=True):
    """Text that may be lost (`live`), that is to be kept (`kept`), or both (`output`); progress."""

    live: str = ""
    kept: str = ""
    output: str = ""
    progress: Progress | None = None


Tell = Callable[[News], None]
"""Takes news; never waits, never raises."""


def tell_nobody(_news: News) -> None:
    """Let news go."""
