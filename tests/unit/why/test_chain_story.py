"""What is told of a due time that a job shares with the runs of the jobs that it follows."""

from __future__ import annotations

from datetime import datetime

import msgspec
import pytest
from tests.unit.why.ground import CHAINED, asked, facts, fleet, hour, job, link, revision, second

from matins.domain.jobs.spec import JobState
from matins.domain.runs.chains import UpstreamRun
from matins.domain.runs.states import RunState
from matins.insight.why.chain_story import is_open
from matins.insight.why.due_story import explain_due
from matins.insight.why.explanation import Explanation
from matins.insight.why.facts import Asked, DueFacts
from matins.insight.why.run_story import explain_run

SENTENCE = "after extract and load, when all succeeded"
CHAIN = job(revision(0, schedule=CHAINED))
EXTRACTED = UpstreamRun("extract", RunState.SUCCEEDED, finished_at=second(20))
LOADING = UpstreamRun("load", RunState.RUNNING)
LOADED = UpstreamRun("load", RunState.SUCCEEDED, finished_at=second(25))
FAILED = UpstreamRun("load", RunState.DEAD, "exit 1", second(25))


def told(*upstream: UpstreamRun, now: datetime | None = None, held: bool = True) -> Explanation:
    alive = Asked(CHAIN, fleet(now or second(30), held=held))
    return explain_due(alive, DueFacts(hour(1), link=link(*upstream)))


def test_what_is_followed_is_told_and_what_is_missing() -> None:
    waits = told(EXTRACTED, LOADING)
    assert [(step.at, step.step, step.text) for step in waits.steps[1:]] == [
        (second(20), "upstream", "extract: succeeded"),
        (second(30), "upstream", "load: running"),
    ]
    assert (waits.state, waits.so) == (
        "to_come",
        "it starts when all that it follows have succeeded; load is running",
    )


def test_what_is_still_to_come_is_waited_for() -> None:
    assert told(EXTRACTED, UpstreamRun("load")).so.endswith("; load is still to come")


@pytest.mark.parametrize(
    ("last", "so"),
    [
        (LOADED, "it is about to start"),
        (FAILED, "it is about to be skipped: upstream load failed: exit 1"),
    ],
)
def test_what_has_ended_lets_it_start_or_skips_it(last: UpstreamRun, so: str) -> None:
    decided = told(EXTRACTED, last)
    assert (decided.state, decided.so) == ("to_be_claimed", so)


def test_what_no_scheduler_lets_start_is_told() -> None:
    late = told(EXTRACTED, LOADED, now=hour(2), held=False)
    assert late.so == (
        "what it follows has ended some time ago, and it has no row yet; no scheduler is alive; the"
        " last was seen at 2026-03-02T12:00:00Z; start one with `matins scheduler`"
    )


def test_in_a_pause_nothing_starts() -> None:
    paused = job(revision(0, schedule=CHAINED), revision(0.5, 2, JobState.PAUSED, CHAINED))
    found = explain_due(asked(paused), DueFacts(hour(1), link=link(EXTRACTED, LOADED)))
    assert (found.state, found.so.split(";")[0]) == ("paused", "the job is paused")


def test_at_another_instant_it_was_not_due() -> None:
    other = explain_due(asked(CHAIN), DueFacts(hour(1.5), link=link(EXTRACTED, LOADED)))
    assert (other.state, other.due_at) == ("not_due", None)
    assert other.so == "it is due with the runs of extract, and none of that was due then"


def test_a_run_is_told_with_the_ends_that_it_waited_for() -> None:
    run = facts(RunState.QUEUED, kind="chained", fire_at=second(25), claimed_at=second(25.1))
    run = msgspec.structs.replace(run, link=link(EXTRACTED, LOADED))
    explained = explain_run(asked(CHAIN), run)
    assert [step.text for step in explained.steps][:4] == [
        f"by revision 1, in force since 2026-03-02T12:00:00Z: {SENTENCE}",
        "extract: succeeded",
        "load: succeeded",
        "its run was made 100ms after the end that it waited for",
    ]


def test_what_has_its_row_is_not_open() -> None:
    assert is_open(asked(CHAIN), link(), None)
    assert not is_open(asked(CHAIN), link(), hour(1))
    assert not is_open(asked(CHAIN), link(due_at=hour(-1)), None)
