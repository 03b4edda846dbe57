"""What the log says of a peer that can't be used: once when that begins, and once when it ends."""

from __future__ import annotations

import structlog

from matins.domain.values.errors import UnavailableError

log = structlog.get_logger()


class Contact:
    """Contact of some work with its peer. `lost` and `found` are the events in the log."""

    def __init__(self, lost: str, found: str, **what: str) -> None:
        self._log = log.bind(**what)
        self._events = lost, found
        self._failures = 0

    def failed(self, error: UnavailableError) -> None:
        """The peer could not be used."""
        self._failures += 1
        if self._failures == 1:
            self._log.warning(self._events[0], error=str(error))

    def worked(self) -> None:
        """The peer was used."""
        if self._failures:
            self._log.info(self._events[1], failures=self._failures)
        self._failures = 0
