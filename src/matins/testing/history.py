"""The history checker: whether what was due, what the rows say and what was called agree.

Every fault test ends here: `assert not (found := check(history)), report(found, count(history))`.
The due times come from the test's own computation (`oracle`), never from the product's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from matins.testing.evidence import (
    Ack,
    AttemptRow,
    Due,
    EvidenceRow,
    History,
    Invariant,
    Violation,
)
from matins.testing.index import Index
from matins.testing.invariants import RULES

__all__ = [
    "Ack",
    "AttemptRow",
    "Due",
    "EvidenceRow",
    "History",
    "Invariant",
    "Violation",
    "check",
    "count",
    "report",
]

_SHOWN = 20


def check(history: History) -> list[Violation]:
    """Find every broken promise. Takes about three seconds for 100,000 rows with their calls."""
    index = Index(history)
    return [Violation(invariant, message) for invariant, rule in RULES for message in rule(index)]


def count(history: History) -> dict[str, int]:
    """Count what happened, so that a test can insist that its rare paths were reached."""
    outcomes = Counter(attempt.outcome for attempt in history.attempts)
    states = Counter(row.state for row in history.rows)
    return {
        "due": len(history.due),
        "rows": len(history.rows),
        "skipped due times": sum(row.due_count for row in history.rows if row.state == "skipped"),
        "calls": len(history.calls),
        "calls left": sum(call.how == "left" for call in history.calls),
        "attempts": len(history.attempts),
        "retries": sum(attempt.number > 1 for attempt in history.attempts),
        "take-overs": _take_overs(history),
        "acks": len(history.acks),
        **{f"attempts {outcome}": number for outcome, number in sorted(outcomes.items())},
        **{f"runs {state}": number for state, number in sorted(states.items())},
    }


def _take_overs(history: History) -> int:
    """Return how often a partition's claims went on under another epoch."""
    leased = {(row.partition, row.epoch) for row in history.rows if row.epoch}
    return len(leased) - len({partition for partition, _ in leased})


def report(violations: Sequence[Violation], counts: Mapping[str, int]) -> str:
    """Tell people what was found: by promise, the first of each, after what was looked at."""
    lines = [", ".join(f"{number} {what}" for what, number in counts.items())]
    if not violations:
        return "\n".join([*lines, "Every promise was kept."])
    for invariant in sorted({violation.invariant for violation in violations}):
        messages = [
            violation.message for violation in violations if violation.invariant == invariant
        ]
        lines.append(f"{invariant} {invariant.name.lower()}: {len(messages)}")
        lines += [f"  {message}" for message in messages[:_SHOWN]]
        if len(messages) > _SHOWN:
            lines.append(f"  and {len(messages) - _SHOWN} more")
    return "\n".join(lines)
