"""Failures over real processes: whoever is killed, each is dealt with as its policy says.

`python -m tests.e2e.failures` is the long form.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from tests.alerts.receivers import webhooks
from tests.e2e.cluster import Cluster
from tests.e2e.failure_checks import Evidence, faults
from tests.e2e.failures import Load, failures

from matins.testing.calls import Call

DUE = datetime(2026, 11, 30, 2, tzinfo=UTC)
JOB, RUN, OTHER = UUID(int=1), UUID(int=2), UUID(int=3)


async def test_retries_letters_and_alerts_are_exact_whatever_is_killed(cluster: Cluster) -> None:
    load = Load(kills=10, every_s=0.8, jobs=1, step_s=4)
    async with webhooks() as hooks:
        broken, counts = await failures(cluster, hooks, load, seed=20261130)
    assert broken == []
    assert counts["dead letters"] > 0
    assert counts["alerts"] > 0


def _at(seconds: float) -> datetime:
    return DUE + timedelta(seconds=seconds)


def _attempt(number: int, begin_s: float, outcome: str = "failed") -> dict[str, Any]:
    status = {"failed": 503, "succeeded": 200, "lost": None}[outcome]
    times = {"started_at": _at(begin_s), "finished_at": _at(begin_s + 0.1)}
    return {"run_id": RUN, "number": number, "outcome": outcome, "http_status": status, **times}


def _call(attempt: int, begin_s: float) -> Call:
    arrived, ended = (int(_at(at).timestamp() * 1e9) for at in (begin_s + 0.02, begin_s + 0.08))
    told = (RUN, attempt, DUE, "thrice-0", "e2e", "scheduled", "POST", "/status/503", 0)
    return Call(*told, arrived, ended, "answered")


def _message(name: str, rule: str = "dead") -> tuple[dict[str, str], bytes]:
    notice = {"job": "thrice-0", "rule": rule, "turn": "bad"}
    return {"webhook-id": name}, msgspec.json.encode({"data": {"notices": [notice]}})


def _evidence() -> Evidence:
    """Return a run that failed three times, as it must."""
    run = {"id": RUN, "job_id": JOB, "due_at": DUE, "state": "dead", "finished_at": _at(4.1)}
    letter = {"run_id": RUN, "dead_at": _at(4.1), "dismissed_at": None}
    return Evidence(
        mended_at={"thrice-0": DUE},
        names={JOB: "thrice-0"},
        calls=[_call(1, 0), _call(2, 1.2), _call(3, 4)],
        runs=[run],
        attempts=[_attempt(1, 0), _attempt(2, 1.2), _attempt(3, 4)],
        letters=[letter | {"error": "HTTP 503", "fingerprint": "3f9a0c52d1e7"}],
        messages=[_message("a"), _message("a")],
    )


def test_the_judge_finds_nothing_where_all_is_as_it_must_be() -> None:
    assert faults(_evidence()) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda e: {"attempts": e.attempts[:2]}, "has to be running"),
        (lambda e: {"attempts": [*e.attempts, _attempt(4, 9)]}, "tried again after it was dead"),
        (
            lambda e: {"attempts": [_attempt(1, 0, "lost"), *e.attempts[1:]]},
            "has to be running",
        ),
        (
            lambda e: {"attempts": [*e.attempts[:2], _attempt(3, 4, "succeeded")]},
            "was answered 503",
        ),
        (lambda e: {"attempts": [e.attempts[0], _attempt(2, 0.9), e.attempts[2]]}, "by its rows"),
        (lambda e: {"calls": [e.calls[0], _call(2, 0.9), e.calls[2]]}, "called again in less"),
        (lambda e: {"calls": [*e.calls, e.calls[0]]}, "was called 2 times"),
        (lambda e: {"calls": e.calls[:2]}, "never called as attempt 3"),
        (lambda e: {"letters": []}, "has 0 letters"),
        (lambda e: {"letters": [*e.letters, e.letters[0]]}, "has 2 letters"),
        (lambda e: {"letters": [*e.letters, e.letters[0] | {"run_id": OTHER}]}, "is not dead"),
        (lambda e: {"letters": [e.letters[0] | {"dead_at": DUE}]}, "another letter"),
        (lambda e: {"letters": [e.letters[0] | {"error": ""}]}, "does not say why"),
        (lambda e: {"messages": []}, "told 0 times, not 1"),
        (lambda e: {"messages": [*e.messages, _message("b")]}, "told 2 times, not 1"),
        (lambda e: {"messages": [*e.messages, _message("b", "failed 2")]}, "1 times, not 0"),
        (lambda e: {"messages": [*e.messages, _message("a", "failed 2")]}, "different contents"),
    ],
)
def test_the_judge_finds(change: Callable[[Evidence], dict[str, Any]], words: str) -> None:
    evidence = _evidence()
    found = faults(evidence._replace(**change(evidence)))
    assert any(words in fault for fault in found), found
