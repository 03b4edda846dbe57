"""What all parts of an executor work with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from matins.domain.ports import Clock, GatewayLink
from matins.executor.targets import Runner
from matins.kernel.settings import Settings, listed

_BACKOFF_FIRST_S = 0.1
_BACKOFF_MAX_S = 5.0


@dataclass(frozen=True)
class Context:
    """The ports and settings of an executor.

    `on_contact` is told when the heartbeat was sent that has just been answered, by
    `clock.elapsed_s`.
    """

    link: GatewayLink
    runners: Mapping[str, Runner]
    clock: Clock
    rng: Random
    settings: Settings
    name: str
    on_contact: Callable[[float], None]

    @property
    def pools(self) -> list[str]:
        """The pools that are served."""
        return listed(self.settings.pools)

    async def back_off(self, failures: int) -> None:
        """Wait after the `failures`-th failed call in a row, with full jitter and a cap."""
        longest = min(_BACKOFF_MAX_S, _BACKOFF_FIRST_S * 2 ** min(failures, 16))
        await self.clock.sleep(self.rng.uniform(0, longest))
