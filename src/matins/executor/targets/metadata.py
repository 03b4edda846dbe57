"""What every target is told of its attempt, whatever the way: headers, variables, labels."""

from __future__ import annotations

from datetime import UTC

from matins.domain.runs.attempts import Attempt


def attempt_metadata(attempt: Attempt) -> dict[str, str]:
    """Name the attempt; the due time is ISO 8601 in UTC, ending in Z."""
    return {
        "Run-Id": str(attempt.run_id),
        "Attempt": str(attempt.number),
        "Due-At": attempt.due_at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "Job": attempt.job,
        "Team": attempt.team,
        "Kind": attempt.kind.value,
    }
