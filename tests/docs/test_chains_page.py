"""The page on chains is true: each row of its example tables is run."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import msgspec
import pytest
from tests.docs.tables import DOCS, rows
from tests.ids import numbered

from matins.cli.applying import read_jobs
from matins.domain.runs.chains import Link, UpstreamRun, decide_link
from matins.domain.runs.states import FINAL, RunState
from matins.domain.schedules.after_jobs import AfterJobs, When

PAGE = "chains.md"
NOW = datetime(2026, 11, 29, 2, tzinfo=UTC)
DECIDED = rows(PAGE, "| when | extract | load | the run |")


@pytest.mark.parametrize(("when", "extract", "load", "told"), DECIDED)
def test_a_run_starts_as_the_page_says(when: When, extract: str, load: str, told: str) -> None:
    upstream = [_run("extract", extract), _run("load", load)]
    link = Link(numbered(1), 0, 1, "default", when, NOW, upstream)
    verdict = decide_link(link)
    if verdict is None:
        assert told == "waits"
    else:
        assert told == ("starts" if verdict.starts else verdict.reason)


def test_the_table_has_every_way_of_starting() -> None:
    assert {cells[0] for cells in DECIDED} == {
        "all_success",
        "any_success",
        "all_done",
        "any_failure",
    }


def test_the_file_on_the_page_can_be_applied() -> None:
    [text] = re.findall(r"```yaml\n(.*?)```", (DOCS / PAGE).read_text("utf-8"), re.DOTALL)
    assert [job.upstream for job in read_jobs(text, "jobs.yaml").jobs] == [
        [],
        ["extract"],
        ["load", "extract"],
    ]


def test_the_page_names_every_field() -> None:
    named = [cells[0] for cells in rows(PAGE, "| field | meaning | default |")]
    assert named == [field.name for field in msgspec.structs.fields(AfterJobs)]


def _run(job: str, state: str) -> UpstreamRun:
    ended = NOW if state in FINAL else None
    return UpstreamRun(job, RunState(state), "", ended)
