"""Who tells operators: each API sees the same findings, and one of them tells each turn."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from matins.domain.alerts.edges import RuleStanding
from matins.domain.status.findings import FindingKind

Key = tuple[FindingKind, str]
"""See `Finding.key`."""

LEASE: Final = timedelta(seconds=30)
"""So long whoever took a turn may take to tell it; then another API may."""

QUIET: Final = timedelta(seconds=10)
"""What no API has found for so long is over: one alone may not reach Valkey, say."""


class FindingTurn(msgspec.Struct, frozen=True):
    """That a finding turned bad, or well, as an API saw it `at`."""

    key: Key
    is_bad: bool
    at: datetime
    reason: str


class TakenTurns(msgspec.Struct, frozen=True):
    """Which turns were taken by whoever asked, and of which nothing is to be told any more.

    The rest are asked for again: another API is just telling them, or some API still finds it.
    """

    taken: set[Key]
    settled: set[Key]


class BadFinding(msgspec.Struct, frozen=True):
    """A finding whose last turn was to bad; it `is_told` once operators have that."""

    since: datetime
    reason: str
    is_told: bool


def as_told(
    before: RuleStanding | None, bad: BadFinding | None, *, is_found: bool
) -> RuleStanding | None:
    """Return how a finding stands, by what all APIs have told of it.

    What is not told yet and still found is left as it is: whoever took it may be telling it. Where
    it is over, its end is told.
    """
    if bad is None:
        return before and msgspec.structs.replace(before, is_notified=False)
    if before is None:
        never = datetime.min.replace(tzinfo=UTC)
        before = RuleStanding(never, is_bad=False, since=bad.since)
    if is_found and not bad.is_told:
        return before
    reason = before.reason if is_found else bad.reason
    return msgspec.structs.replace(before, is_notified=True, reason=reason)
