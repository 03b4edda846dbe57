"""What must hold of runs that failed by a plan; written down apart from the product's own rules."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, Final, NamedTuple
from uuid import UUID

import msgspec

from matins.testing.calls import Call

LOST_MAX: Final = 5
"""So many losses end a run by default."""

_NS: Final = 1_000_000_000


class Plan(NamedTuple):
    """A policy, what its target answers, and what must come of it.

    `fails`: the attempts up to this number are answered with `status`, None: all. `failures`: after
    so many a run is dead, None: it succeeds before. `mends`: from the middle on all is well.
    """

    name: str
    retry: dict[str, Any]
    status: int
    failures: int | None
    fails: int | None = None
    mends: bool = False

    @property
    def fails_at_once(self) -> bool:
        """Whether its runs are dead after one attempt; its jobs are told of two in a row."""
        return self.failures == 1

    def path(self, mended_at: datetime) -> str:
        """Return what to call."""
        if self.mends:
            return f"/mended?at={mended_at.timestamp():.0f}"
        return f"/status/{self.status}" if self.fails is None else f"/flaky?fail={self.fails}"

    def answer(self, attempt: int, due_at: datetime, mended_at: datetime) -> int:
        """Return what the target says to an attempt of a run."""
        is_well = attempt > (attempt if self.fails is None else self.fails)
        is_well |= self.mends and due_at >= mended_at
        return 200 if is_well else self.status


EXACT: Final = {"initial": "1s", "factor": 2, "jitter": "none"}

PLANS: Final = (
    Plan("once", {"attempts": 1, "backoff": EXACT}, 500, failures=1),
    Plan("thrice", {"attempts": 3, "backoff": EXACT}, 503, failures=3),
    Plan("flaky", {"attempts": 3, "backoff": EXACT}, 503, failures=None, fails=2),
    Plan(
        "permanent",
        {"attempts": 4, "backoff": EXACT, "permanent_on": ["http:409"]},
        409,
        failures=1,
    ),
    Plan("unnamed", {"attempts": 4, "backoff": EXACT, "retry_on": ["http:429"]}, 500, failures=1),
    Plan("named", {"attempts": 2, "backoff": EXACT, "retry_on": ["http:404"]}, 404, failures=2),
    Plan("mended", {"attempts": 2, "backoff": EXACT}, 503, failures=2, mends=True),
)
"""Jobs are named after their plan, with a number."""


class Evidence(NamedTuple):
    """All that is known after it has come to rest. `mended_at`: by job, for plans that mend.
    `messages`: headers and body of each webhook.
    """

    mended_at: Mapping[str, datetime]
    names: Mapping[UUID, str]
    calls: Sequence[Call]
    runs: Sequence[Mapping[str, Any]]
    attempts: Sequence[Mapping[str, Any]]
    letters: Sequence[Mapping[str, Any]]
    messages: Sequence[tuple[dict[str, str], bytes]]

    def plan(self, run: Mapping[str, Any]) -> Plan:
        """Return the plan of a run's job."""
        return _plan(self.names[run["job_id"]])


Told = tuple[str, str, str]
"""A job's name, a rule and a turn."""


def faults(evidence: Evidence) -> list[str]:
    """Return all that is wrong."""
    return [
        *_retry_faults(evidence),
        *_wait_faults(evidence),
        *_letter_faults(evidence),
        *_alert_faults(evidence),
    ]


def figures(evidence: Evidence) -> dict[str, int]:
    """Count what happened."""
    ids = [headers["webhook-id"] for headers, _ in evidence.messages]
    return {
        "dead letters": len(evidence.letters),
        "alerts": sum(received(evidence.messages).values()),
        "messages": len(set(ids)),
        "messages that came again": len(ids) - len(set(ids)),
    }


def _retry_faults(evidence: Evidence) -> Iterator[str]:
    """Each run has the attempts that its policy allows, and ends as it says."""
    attempts = _by_run(evidence.attempts)
    for run in evidence.runs:
        if run["state"] == "skipped":
            continue
        plan, name = evidence.plan(run), _name(evidence, run)
        mended_at = evidence.mended_at[evidence.names[run["job_id"]]]
        failed = lost = 0
        state = "running"
        for attempt in attempts[run["id"]]:
            if state != "running":
                yield f"{name} was tried again after it was {state}"
            if attempt["outcome"] == "lost":
                lost += 1
                state = "dead" if lost == LOST_MAX else state
                continue
            wanted = plan.answer(attempt["number"], run["due_at"], mended_at)
            outcome = "succeeded" if wanted == 200 else "failed"
            if (attempt["outcome"], attempt["http_status"]) != (outcome, wanted):
                yield f"{name} was answered {wanted}, and is recorded as {dict(attempt)}"
            failed += wanted != 200
            if wanted == 200:
                state = "succeeded"
            elif failed == plan.failures:
                state = "dead"
        if run["state"] != state:
            yield f"{name} is {run['state']} after {failed} failures, and has to be {state}"


def _wait_faults(evidence: Evidence) -> Iterator[str]:
    """Each attempt is called once, and waits as long as its policy says after the one before."""
    runs = {run["id"]: run for run in evidence.runs}
    calls = {(call.run_id, call.attempt): call for call in evidence.calls}
    for key, number in Counter((call.run_id, call.attempt) for call in evidence.calls).items():
        if number > 1:
            yield f"attempt {key[1]} of run {key[0]} was called {number} times"
    for run_id, attempts in _by_run(evidence.attempts).items():
        name = _name(evidence, runs[run_id])
        failed = 0
        for before, attempt in pairwise(attempts):
            is_lost = before["outcome"] == "lost"
            failed += not is_lost
            wait_s = 1 if is_lost else 2 ** (failed - 1)
            if attempt["started_at"] - before["finished_at"] < timedelta(seconds=wait_s):
                yield f"{name} was tried again in less than {wait_s} s by its rows"
            ended = None if is_lost else calls[run_id, before["number"]].ended_ns
            call = calls.get((run_id, attempt["number"]))
            if ended and call and call.arrived_ns - ended < wait_s * _NS:
                yield f"{name} was called again in less than {wait_s} s"
        for attempt in attempts:
            if attempt["outcome"] != "lost" and (run_id, attempt["number"]) not in calls:
                yield f"{name} was never called as attempt {attempt['number']}"


def _letter_faults(evidence: Evidence) -> Iterator[str]:
    """Each dead run has one letter, that is open; no other run has any."""
    dead = {run["id"]: run for run in evidence.runs if run["state"] == "dead"}
    letters = Counter(letter["run_id"] for letter in evidence.letters)
    for run_id, run in dead.items():
        if letters[run_id] != 1:
            yield f"{_name(evidence, run)} is dead and has {letters[run_id]} letters"
    for letter in evidence.letters:
        if letter["run_id"] not in dead:
            yield f"run {letter['run_id']} has a letter and is not dead"
            continue
        run = dead[letter["run_id"]]
        if letter["dismissed_at"] is not None or letter["dead_at"] != run["finished_at"]:
            yield f"{_name(evidence, run)} has another letter: {dict(letter)}"
        elif not letter["error"] or letter["fingerprint"] in ("", "unknown"):
            yield f"{_name(evidence, run)} has a letter that does not say why"


def _alert_faults(evidence: Evidence) -> Iterator[str]:
    """What is to be told is told once, to who takes each message once; and nothing else is."""
    told, expected = received(evidence.messages), expected_notices(evidence)
    for notice in told | expected:
        if told[notice] != expected[notice]:
            yield f"{' '.join(notice)} was told {told[notice]} times, not {expected[notice]}"
    bodies: dict[str, set[tuple[Told, ...]]] = defaultdict(set)
    for headers, body in evidence.messages:
        bodies[headers["webhook-id"]].add(tuple(_notices(body)))
    for message, contents in bodies.items():
        if len(contents) > 1:
            yield f"message {message} came with different contents: {contents}"


def expected_notices(evidence: Evidence) -> Counter[Told]:
    """Return what is to be told of the runs as they ended: each job turns bad and well but once."""
    expected: Counter[Told] = Counter()
    states: dict[str, list[str]] = defaultdict(list)
    ended = [run for run in evidence.runs if run["state"] in ("dead", "succeeded")]
    for run in sorted(ended, key=lambda run: run["finished_at"]):
        states[evidence.names[run["job_id"]]].append(run["state"])
    for job, ends in states.items():
        died = ends.count("dead")
        expected[job, "dead", "bad"] = int(died > 0)
        is_mended = job.startswith("mended")
        expected[job, "dead", "well"] = int(is_mended and died > 0 and ends[-1] == "succeeded")
        expected[job, "failed 2", "bad"] = int(_plan(job).fails_at_once and died > 1)
    return +expected


def received(messages: Iterable[tuple[dict[str, str], bytes]]) -> Counter[Told]:
    """Return how often each was told to who takes the first message of each id, and no other."""
    first: dict[str, bytes] = {}
    for headers, body in messages:
        first.setdefault(headers["webhook-id"], body)
    return Counter(notice for body in first.values() for notice in _notices(body))


def _notices(body: bytes) -> list[Told]:
    notices = msgspec.json.decode(body)["data"]["notices"]
    return [(notice["job"], notice["rule"], notice["turn"]) for notice in notices]


def _by_run(attempts: Sequence[Mapping[str, Any]]) -> dict[UUID, list[Mapping[str, Any]]]:
    by_run: dict[UUID, list[Mapping[str, Any]]] = defaultdict(list)
    for attempt in attempts:
        by_run[attempt["run_id"]].append(attempt)
    return by_run


def _plan(job: str) -> Plan:
    return next(plan for plan in PLANS if plan.name == job.rpartition("-")[0])


def _name(evidence: Evidence, run: Mapping[str, Any]) -> str:
    return f"the run of {evidence.names[run['job_id']]} due {run['due_at']:%H:%M:%S}"
