"""The decision of admission: whether a run may start, what it waits for, or why it is skipped.

Pure. A new way of waiting is a member: one file beside this one, and a line in `MEMBERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Final

from matins.domain.runs.admission.waiting import (
    ADMITTED,
    Candidate,
    Decision,
    Facts,
    Rules,
    Verdict,
    Waiting,
)
from matins.domain.runs.admission.windows import ask_windows
from matins.domain.runs.states import RunState

_NEVER: Final = datetime(9999, 12, 31, tzinfo=UTC)

Member = Callable[[Candidate, Rules, datetime], Verdict | None]
"""Says what speaks against a run at an instant; None: nothing that this member knows of."""

MEMBERS: Final[tuple[Member, ...]] = (ask_windows,)
"""Who is asked. The order does not matter."""


def ask(run: Candidate, rules: Rules, now: datetime) -> Verdict:
    """Return what becomes of a run: skipped if any member says so, else it waits for the last."""
    against = [verdict for member in MEMBERS if (verdict := member(run, rules, now)) is not None]
    return max(against, key=_weight, default=ADMITTED)


def decide(batch: Iterable[Waiting], facts: Facts) -> list[Decision]:
    """Return a decision on each of the runs, under the rules of its team."""
    return [_decide(waiting, facts) for waiting in batch]


def _decide(waiting: Waiting, facts: Facts) -> Decision:
    rules = None if waiting.team_id is None else facts.rules.get(waiting.team_id)
    candidate = facts.candidates.get(waiting.run_id)
    if rules is None or candidate is None:
        return Decision(waiting, ADMITTED, rules)
    return Decision(waiting, ask(candidate, rules, facts.now), rules)


def _weight(verdict: Verdict) -> tuple[bool, datetime]:
    return verdict.state is RunState.SKIPPED, verdict.until or _NEVER
