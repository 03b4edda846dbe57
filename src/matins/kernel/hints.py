"""Sending hints to whoever listens."""

from __future__ import annotations

import structlog

from matins.domain.ports import Hints
from matins.domain.values.errors import UnavailableError

log = structlog.get_logger()


async def notify(hints: Hints, channel: str, *words: str) -> None:
    """Notify listeners, so that they look at once; without words, at everything.

    A hint that is lost is logged: their polls find the same a little later.
    """
    try:
        await hints.send(channel, words or ("",))
    except UnavailableError as error:
        log.warning("hint.lost", channel=channel, words=words, error=str(error))
