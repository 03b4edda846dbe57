"""What is known of the queues of pools as a whole. See the package."""

from __future__ import annotations

from typing import Protocol

from matins.domain.runs.ranking import QueuesSeen


class Queues(Protocol):
    """How fast the queues of pools go on, and how teams share them."""

    async def read(self) -> QueuesSeen:
        """Return what was noted of all pools, and the weights of teams."""
