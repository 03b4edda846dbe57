"""What kind of reason a due time is skipped for, by the very texts that are written."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client import REGISTRY
from tests.docs.tables import DOCS

from matins.domain.jobs.misfire import Misfire, misfired
from matins.domain.jobs.windows import Window
from matins.domain.runs.chains import UPSTREAM
from matins.domain.runs.restores import UNCERTAIN
from matins.domain.runs.skips import SKIP_KINDS, skip_kind
from matins.kernel.skips import count_skips

AT = datetime(2026, 12, 1, tzinfo=UTC)
WINDOW = Window("db", AT, AT + timedelta(hours=1), policy="skip", reason="overlap: of shifts")


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        (misfired(Misfire("skip")), "misfire"),
        (UNCERTAIN, "restore"),
        (f"{UPSTREAM}extract is dead", "upstream"),
        (WINDOW.skip_reason, "window"),
        ("calendar closing: Christmas Day", "calendar"),
        ("skipped by an override: moved house", "override"),
        ("overlap: run 1 due now is still running", "overlap"),
        ("something else", "other"),
        ("", "other"),
    ],
)
def test_a_reason_is_of_a_kind(reason: str, kind: str) -> None:
    assert skip_kind(reason) == kind


def test_due_times_are_counted_by_kind() -> None:
    def count(kind: str) -> float:
        return REGISTRY.get_sample_value("matins_skipped_total", {"reason": kind}) or 0.0

    before = {kind: count(kind) for kind in SKIP_KINDS}
    count_skips([("overlap: x", 1), ("misfire: last", 40), ("overlap: y", 1)])
    grown = {kind: count(kind) - before[kind] for kind in SKIP_KINDS}
    assert {kind: by for kind, by in grown.items() if by} == {"overlap": 2, "misfire": 40}


def test_the_page_names_each_kind() -> None:
    [told] = re.findall(r"by (`overlap`[^|]*) \|", (DOCS / "status.md").read_text("utf-8"))
    assert re.findall(r"`(\w+)`", told) == list(SKIP_KINDS)
