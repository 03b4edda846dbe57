"""The page on the status is true: its kinds, its metrics, its times, and what it prints."""

from __future__ import annotations

import io
import re
from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console
from tests.docs.tables import DOCS, rows

from matins.alerts.operators import EVERY_S
from matins.cli import system, tables
from matins.domain.executors.fleet import STALLED
from matins.domain.status.facts import COUNT_MAX, OVERDUE_MAX, LiveRuns, PoolStatus, SystemFacts
from matins.domain.status.findings import FindingKind
from matins.domain.status.judging import Sight, judge
from matins.kernel import metrics
from matins.kernel.settings import Settings
from matins.status.figures import POOLS_MAX
from matins.status.watch import LOOK_S

PAGE = "status.md"
TEXT = (DOCS / PAGE).read_text("utf-8")
AT = datetime(2026, 12, 1, 2, 0, 31, tzinfo=UTC)


def test_the_page_names_every_kind_and_no_other() -> None:
    named = [kind.strip("`") for kind, *_ in rows(PAGE, "| kind | grade | when |")]
    assert named == list(FindingKind)


def test_the_page_names_metrics_that_there_are() -> None:
    served = set(re.findall(r"^# TYPE (\w+) ", metrics.exposition().decode(), re.MULTILINE))
    for table, ending in (("| metric | |", ""), ("| counter | |", "_total")):
        named = {name.strip("`").split("{")[0] for name, _ in rows(PAGE, table)}
        assert named <= served, named - served
        assert all(name.endswith(ending) for name in named)


def test_the_page_tells_the_bounds_and_the_defaults_keep_the_promise() -> None:
    settings = Settings()
    assert f"`MATINS_STATUS_EVERY` ({settings.status_every_s:g} s)" in TEXT
    assert f"`MATINS_STATUS_AFTER` ({settings.status_after_s:g} s)" in TEXT
    assert settings.status_after_s + settings.status_every_s + LOOK_S < 30
    assert settings.status_after_s + settings.status_every_s + EVERY_S < 30  # to operators
    assert settings.lease_term_s < settings.status_after_s
    assert f"does not answer within {LOOK_S:g} s" in TEXT
    assert f"over {STALLED.total_seconds() / 60:g} minutes" in TEXT
    assert f"counted up to {COUNT_MAX:,}" in TEXT
    assert f"up to {OVERDUE_MAX} of each partition" in TEXT
    assert f"of the {POOLS_MAX} pools" in TEXT


def test_what_the_page_shows_is_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    gone = AT - timedelta(seconds=29)
    facts = SystemFacts(
        AT,
        schedulers=2,
        pools=[
            PoolStatus("default", 3, AT - timedelta(seconds=1)),
            PoolStatus("gpu", 0, gone, 12, gone - timedelta(seconds=2)),
        ],
        runs=LiveRuns(queued=12, running=3),
        dead_letters=4,
    )
    printed = io.StringIO()
    monkeypatch.setattr(system, "console", lambda: plain(printed))
    monkeypatch.setattr(system, "tell", lambda text: print(text, file=printed))
    system._print(judge(Sight(AT, AT - timedelta(hours=1), facts), timedelta(seconds=20)))
    [shown] = re.findall(r"```text\n(.*?)```", TEXT, re.DOTALL)
    assert [line.rstrip() for line in printed.getvalue().splitlines()] == shown.splitlines()


def plain(printed: io.StringIO) -> Console:
    return Console(file=printed, width=tables.WIDE, markup=False, highlight=False)
