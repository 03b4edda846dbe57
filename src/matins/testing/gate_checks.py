"""What must be true of gates and permits whenever a run is admitted, and at rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from matins.domain.runs.states import FINAL, RunState
from matins.testing.memory.rows import RunRow
from matins.testing.memory.world import World


def gate_faults(world: World, run: RunRow, unfinished: Iterable[RunRow]) -> Iterator[str]:
    """Yield where a run that was just admitted is one too many: by the permits, or by the runs; and
    who holds a permit after the end.
    """
    begun = Counter(
        gate_id
        for other in unfinished
        if other.state in (RunState.QUEUED, RunState.RUNNING)
        for gate_id in world.jobs[other.job_id].gates
    )
    for gate in world.gates.rows.values():
        for holder in gate.permits:
            held = world.runs_by_id.get(holder)
            if held is not None and held.state in FINAL:
                yield f"run {holder} is {held.state} and holds a permit of {gate.kind} {gate.name}"
        if gate.limit is None or run.id not in gate.permits:
            continue
        most = max(len(gate.permits), begun[gate.id])
        if most > gate.limit:
            message = f"{most} at {gate.kind} {gate.name}, whose limit is {gate.limit}"
            yield f"run {run.id} was one too many: {message}"


def permits_held(world: World) -> int:
    """Return how many permits are taken."""
    return sum(len(row.permits) for row in world.gates.rows.values())
