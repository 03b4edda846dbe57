"""Why a run failed, as `runs show` and `dead show` tell it."""

from __future__ import annotations

from matins.cli.showing import local
from matins.cli.tables import Cell
from matins.client.sdk import Matins
from matins.domain.executors.protocol import RunStatus
from matins.domain.runs.dead import DeadLetter, RunFailure
from matins.domain.runs.states import RunState
from matins.insight.explain.english import counted


async def find_failure(client: Matins, status: RunStatus) -> RunFailure | None:
    """Return why a run failed that is dead, or is tried again; None for any other."""
    if status.state not in (RunState.DEAD, RunState.RETRYING):
        return None
    return await client.get_failure(status.id)


def failure_pairs(failure: RunFailure) -> list[tuple[str, Cell]]:
    """Return the lines that describe a failure."""
    alike = f"{failure.failed_alike} of the {counted(failure.looked_at, 'run')} before"
    pairs: list[tuple[str, Cell]] = [
        ("error", failure.error),
        ("fingerprint", failure.fingerprint),
        ("failed alike", alike),
    ]
    if failure.last_success is not None:
        success = f"{failure.last_success.run_id}, due {local(failure.last_success.due_at)}"
        pairs.append(("last success", success))
        changes = [change.words(local(change.at)) for change in failure.changes]
        pairs.append(("changed since", "\n".join(changes) or "nothing of the job"))
    return pairs + (_closed_pairs(failure.letter) if failure.letter else [])


def _closed_pairs(letter: DeadLetter) -> list[tuple[str, Cell]]:
    """Return what closed a letter; nothing while it is open."""
    if letter.dismissed_at is None:
        return []
    if letter.replayed_as is not None:
        by = f" by {letter.dismissed_by}" if letter.dismissed_by else ""
        return [("replayed as", f"{letter.replayed_as}, {local(letter.dismissed_at)}{by}")]
    by = letter.dismissed_by or "unknown"
    return [("dismissed", f"{local(letter.dismissed_at)} by {by}"), ("note", letter.note)]
