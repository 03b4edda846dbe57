"""What is before a run that waits, and when it will probably start."""

from __future__ import annotations

from matins.cli.showing import local
from matins.client.sdk import Matins
from matins.domain.executors.protocol import RunStatus
from matins.domain.runs.outlook import Outlook
from matins.domain.runs.states import RunState
from matins.domain.values.errors import ConflictError
from matins.insight.explain.english import counted

_WAITS = (RunState.WAITING, RunState.QUEUED, RunState.RETRYING)


async def find_outlook(client: Matins, run: RunStatus) -> Outlook | None:
    """Return the outlook of a run that waits; None if it does not, or no more."""
    if run.state not in _WAITS:
        return None
    try:
        return await client.get_outlook(run.id)
    except ConflictError:  # it has started meanwhile
        return None


def outlook_pairs(outlook: Outlook) -> list[tuple[str, str]]:
    """Return what people are told of it."""
    more = "" if outlook.is_all else "more than "
    before = f"{more}{counted(outlook.before, 'run')} on the queue of pool {outlook.pool}"
    line = f"{counted(outlook.in_line, 'run')} before it" if outlook.in_line else ""
    return [
        ("held by", _holders(outlook)),
        ("in line", line),
        ("before it", before if outlook.before else ""),
        ("waits until", local(outlook.until) if outlook.until else ""),
        ("starts", f"probably {local(outlook.starts_at)}" if outlook.starts_at else ""),
    ]


def _holders(outlook: Outlook) -> str:
    """Return which runs hold what it waits for: the first of them, and how many more."""
    lines = [f"{holder.run} of {holder.job}, {holder.state}" for holder in outlook.holders]
    if more := outlook.held_by - len(lines):
        lines.append(f"and {counted(more, 'other run')}")
    return "\n".join(lines) if outlook.held_by else ""
