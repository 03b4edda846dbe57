"""Limits and quotas in memory. See `domain.ports.limits`."""

from __future__ import annotations

from matins.domain.jobs.limits import Limit, Quotas
from matins.testing.memory.gates import GateRow, WrittenLimits
from matins.testing.memory.world import World


class MemoryLimits:
    """See `domain.ports.limits.LimitChanges`."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def put_limit(self, team: str, limit: Limit) -> tuple[Limit | None, int]:
        """See `domain.ports.limits.LimitChanges`."""
        row = self._world.gates.make(self._team(team), "key", limit.key)
        before = _set(row, limit.key)
        self._write(row, WrittenLimits(limit.limit, limit.rate))
        return before, row.id

    async def delete_limit(self, team: str, key: str) -> tuple[Limit | None, int]:
        """See `domain.ports.limits.LimitChanges`."""
        row = self._world.gates.find(self._team(team), "key", key)
        if row is None:
            return None, 0
        before = _set(row, key)
        self._write(row, WrittenLimits())
        return before, row.id

    async def put_quotas(self, team: str, quotas: Quotas) -> tuple[Quotas, int]:
        """See `domain.ports.limits.LimitChanges`."""
        gates, team_id = self._world.gates, self._team(team)
        row = gates.of_team(team_id)
        starts = None if row.team_set.rate is None else int(row.team_set.rate.removesuffix("/m"))
        before = Quotas(gates.max_jobs.get(team_id), row.team_set.limit, starts)
        self._write(row, WrittenLimits(quotas.max_running, quotas.rate))
        gates.max_jobs.pop(team_id, None)
        if quotas.max_jobs is not None:
            gates.max_jobs[team_id] = quotas.max_jobs
        return before, row.id

    def _team(self, team: str) -> int:
        teams = self._world.teams
        return teams.setdefault(team, len(teams) + 1)

    def _write(self, row: GateRow, limits: WrittenLimits) -> None:
        row.team_set = limits
        row.revision += 1


def _set(row: GateRow, key: str) -> Limit | None:
    if row.team_set == WrittenLimits():
        return None
    return Limit(key, row.team_set.limit, row.team_set.rate)
