"""The queues of pools as a whole, in memory. See `domain.ports.pools`."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from matins.domain.runs.ranking import QueuesSeen, Started, noted
from matins.testing.memory.world import World


class MemoryQueues:
    """The queues of a world. See `domain.ports.pools.Queues`."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def read(self) -> QueuesSeen:
        """See `domain.ports.pools.Queues`."""
        return QueuesSeen(dict(self._world.pools), dict(self._world.weights))


def note_starts(world: World, started: Sequence[Started]) -> None:
    """Note what was handed out of pools."""
    now = world.now()
    for of in started:
        before, queue = world.pools.get(of.pool), world.queues.get(of.pool)
        seen = noted(before, of, since_s=None, first=queue[0][0] if queue else None)
        emptied_at = now if seen.reached is None else before and before.emptied_at
        world.pools[of.pool] = msgspec.structs.replace(seen, emptied_at=emptied_at)
