"""Counting due times that are skipped, by the kind of their reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from matins.domain.runs.skips import skip_kind
from matins.kernel.metrics import SKIPPED


def count_skips(reasons: Iterable[tuple[str, int]]) -> None:
    """Count reasons, each with the number of due times that it stands for."""
    counts = Counter[str]()
    for reason, due_count in reasons:
        counts[skip_kind(reason)] += due_count
    for kind, count in counts.items():
        SKIPPED.labels(kind).inc(count)
