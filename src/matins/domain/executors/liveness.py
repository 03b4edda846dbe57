"""How the silence of an executor is judged: by the watcher's own waking time, with a guard."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from matins.domain.executors.protocol import Running


class ExecutorSeen(msgspec.Struct, frozen=True):
    """An executor incarnation that is not declared lost, and the time of its last heartbeat."""

    id: UUID
    name: str
    heartbeat_at: datetime


class Silence(msgspec.Struct, frozen=True):
    """How long the watcher, itself awake and connected, has seen no new heartbeat; in seconds."""

    heartbeat_at: datetime
    silent_s: float = 0.0


def listen(
    heard: dict[UUID, Silence], seen: list[ExecutorSeen], awake_s: float
) -> dict[UUID, Silence]:
    """Add `awake_s` of silence to each executor whose heartbeat did not change since the last look.

    An executor seen for the first time has been silent for nothing.
    """
    after = {}
    for executor in seen:
        before = heard.get(executor.id)
        if before is None or before.heartbeat_at != executor.heartbeat_at:
            after[executor.id] = Silence(executor.heartbeat_at)
        else:
            after[executor.id] = Silence(executor.heartbeat_at, before.silent_s + awake_s)
    return after


def company(run: Running, held: Sequence[Running]) -> int:
    """Return how many others share the blame for the death of the executor that held all these
    runs.

    A suspect is the only one of its kind on an executor, so it shares it with no others.
    """
    is_suspect = run.tried.is_suspect
    blamed = {run.run_id for run in held if run.tried.is_suspect or not is_suspect}
    return len(blamed) - 1


def lost(heard: dict[UUID, Silence], bound_s: float) -> tuple[list[UUID], bool]:
    """Return which executors are lost, and whether the mass-loss guard is up.

    The guard: when most of at least four look lost at once, it is more likely that the road to
    them is broken than that all died; then the bound counts double.
    """
    silent = [name for name, silence in heard.items() if silence.silent_s >= bound_s]
    is_guarded = len(heard) >= 4 and len(silent) * 2 > len(heard)
    if is_guarded:
        silent = [name for name in silent if heard[name].silent_s >= 2 * bound_s]
    return silent, is_guarded
