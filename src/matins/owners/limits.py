"""What owners do to limits and quotas. Who passes them is decided by admission."""

from __future__ import annotations

from matins.domain.jobs.limit_views import LimitChanged, QuotasChanged
from matins.domain.jobs.limits import Limit, Quotas
from matins.domain.ports import Hints
from matins.domain.ports.limits import LimitChanges
from matins.domain.runs.admission.hints import CHANNEL, gate_word
from matins.domain.values.errors import NotFoundError, check
from matins.domain.values.names import check_name
from matins.kernel.hints import notify


class Limits:
    """Sets limits of concurrency keys, and quotas of teams."""

    def __init__(self, changes: LimitChanges, hints: Hints) -> None:
        self._changes = changes
        self._hints = hints

    async def put(self, team: str, limit: Limit) -> LimitChanged:
        """Set the limits of a key: they count instead of what its jobs say.

        A limit below what is taken lets nothing start until there is room. Raises
        InvalidInputError.
        """
        check_name("team", team)
        check(limit.problems())
        before, gate_id = await self._changes.put_limit(team, limit)
        if before == limit:
            return LimitChanged(limit, "unchanged")
        await self._notify(gate_id)
        return LimitChanged(limit, "created" if before is None else "changed")

    async def delete(self, team: str, key: str) -> LimitChanged:
        """Let the limits count that the jobs say themselves. Raises NotFoundError."""
        check_name("team", team)
        check_name("key", key)
        before, gate_id = await self._changes.delete_limit(team, key)
        if before is None:
            raise NotFoundError(f"team {team} has set no limit for {key!r}")
        await self._notify(gate_id)
        return LimitChanged(before, "deleted")

    async def put_quotas(self, team: str, quotas: Quotas) -> QuotasChanged:
        """Set all quotas of a team; what is left out is by the operator's default again.

        Raises InvalidInputError.
        """
        check_name("team", team)
        check(quotas.problems())
        before, gate_id = await self._changes.put_quotas(team, quotas)
        if before == quotas:
            return QuotasChanged(quotas, "unchanged")
        await self._notify(gate_id)
        return QuotasChanged(quotas, "changed")

    async def _notify(self, gate_id: int) -> None:
        """Let those be asked about who have room now."""
        await notify(self._hints, CHANNEL, gate_word(gate_id))
