"""What changes of limits and quotas need of the world. See `domain.ports`."""

from __future__ import annotations

from typing import Protocol

from matins.domain.jobs.limits import Limit, Quotas


class LimitChanges(Protocol):
    """The limits that teams set for their concurrency keys, and their quotas.

    Each method is one transaction under the gate's lock. The team is made on first use.
    """

    async def put_limit(self, team: str, limit: Limit) -> tuple[Limit | None, int]:
        """Set the limits of a key; return what was set before, and the id of its gate."""

    async def delete_limit(self, team: str, key: str) -> tuple[Limit | None, int]:
        """Let those of the jobs count again; return what was set, and the gate's id."""

    async def put_quotas(self, team: str, quotas: Quotas) -> tuple[Quotas, int]:
        """Set the quotas of a team; return what was set before, and the gate's id."""
