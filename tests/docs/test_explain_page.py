"""The page on explanations is true: its examples are what is told of what they say."""

from __future__ import annotations

import re
import time
from typing import Final

import msgspec
import pytest
from tests.docs.tables import DOCS, rows
from tests.unit.why.ground import attempt, facts, fleet, hour, job, revision, second

from matins.cli.explaining import show
from matins.domain.jobs.spec import JobState
from matins.domain.runs.states import RunState
from matins.insight.why import words
from matins.insight.why.due_story import explain_due
from matins.insight.why.explanation import Explanation, Standing, Step
from matins.insight.why.facts import Asked, DueFacts, ExplainedJob, WaitingPlace
from matins.insight.why.run_story import explain_run

PAGE: Final = "explain.md"
TEXT: Final = (DOCS / PAGE).read_text("utf-8")
SHOWN: Final = re.findall(r"```text\n(.*?)```", TEXT, re.DOTALL)
SKIPPED: Final = rows(PAGE, "| the row says | so |")
WAITING: Final = rows(PAGE, "| the run waits | for | so |")
STATES: Final = rows(PAGE, "| state | what it means |")


def _dead() -> Explanation:
    reason = "failed 2 times; at last: exit code 1"
    run = facts(RunState.DEAD, attempt=2, reason=reason, finished_at=second(12.5))
    attempts = [
        attempt(1, 0.06, 0.46, reason="exit code 1"),
        attempt(2, 12.02, 12.5, reason="exit code 1"),
    ]
    return explain_run(
        Asked(job(), fleet(second(60))), msgspec.structs.replace(run, attempts=attempts)
    )


def _unserved() -> Explanation:
    alive = fleet(second(90), queued_since={"gpu": second(0)})
    return explain_run(Asked(job(), alive), facts(RunState.QUEUED, pool="gpu"))


def _due(told: ExplainedJob, at: float, *, now: float, held: bool = True) -> Explanation:
    return explain_due(Asked(told, fleet(hour(now), held=held)), DueFacts(hour(at)))


EXAMPLES: Final = {
    "dead": _dead(),
    "unserved": _unserved(),
    "no scheduler": _due(job(), 3, now=3.1, held=False),
    "not due": _due(job(), 1.5, now=3.1),
    "paused": _due(job(revision(0), revision(1.5, 2, JobState.PAUSED)), 2, now=2.5),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_what_is_told(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        show(EXAMPLES[name])
    time.tzset()
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert "\n".join(lines) + "\n" in SHOWN


def test_the_page_shows_no_other_example() -> None:
    assert len(SHOWN) == len(EXAMPLES)


@pytest.mark.parametrize(("reason", "so"), SKIPPED)
def test_a_reason_means_what_the_page_says(reason: str, so: str) -> None:
    assert words.skipped(job(), reason).so.replace("`", "") == so.replace("`", "")


@pytest.mark.parametrize(("reason", "cause", "so"), WAITING)
def test_what_waits_is_told_as_the_page_says(reason: str, cause: str, so: str) -> None:
    name, _, blocker = cause.partition(" ")
    told = words.waiting(job(), reason, WaitingPlace(name, blocker or None))
    assert told.so.replace("`", "") == so.replace("`", "")


def test_the_page_names_every_state_and_field() -> None:
    assert {state for cell, _ in STATES for state in cell.replace("`", "").split(", ")} == set(
        Standing
    )
    fields = [field.name for kind in (Explanation, Step) for field in msgspec.structs.fields(kind)]
    assert [name for name in fields if f"`{name}`" not in TEXT] == []
