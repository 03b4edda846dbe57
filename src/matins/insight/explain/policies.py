"""The policies of a job in plain English, as its page tells them."""

from __future__ import annotations

from typing import Final, NamedTuple

from matins.domain.jobs.keeping import DAYS, Keep, kept
from matins.domain.jobs.misfire import Misfire
from matins.domain.jobs.overlap import Overlap, OverlapPolicy
from matins.domain.jobs.retry import RetryPolicy
from matins.domain.jobs.spec import JobSpec
from matins.insight.explain.english import counted, listed

_OVERLAPS: Final[dict[OverlapPolicy, str]] = {
    "skip": "What is due while a run is unfinished is skipped.",
    "allow": "Runs may overlap: each starts when it is due.",
    "queue": "What is due while a run is unfinished waits for its end",
    "replace": "What is due while a run is unfinished cancels that run, and takes its place.",
}


class Policy(NamedTuple):
    """A policy: by which field of a job, and what it says."""

    name: str
    text: str


def describe_policies(spec: JobSpec) -> list[Policy]:
    """Return what a job's policies say, defaults included."""
    policies = [
        Policy("timeout", f"An attempt may take {spec.timeout}."),
        Policy("retry", _retry(spec.retrying)),
        Policy("overlap", _overlap(spec.overlapping)),
        Policy("misfire", _misfire(spec.misfire)),
        Policy("limits", _limits(spec)),
        Policy("pool", f"Runs in pool {spec.pool}, with {spec.priority} priority."),
        Policy("keep", _keep(spec.keep)),
    ]
    return [policy for policy in policies if policy.text]


def _retry(retry: RetryPolicy) -> str:
    attempts = retry.attempts or 1
    lost = f"an attempt whose executor is lost is made again, up to {retry.lost - 1} times"
    if attempts == 1:
        return f"Not tried again when it fails; {lost}." if retry.lost > 1 else "Never tried again."
    backoff = retry.backoff
    spread = "at random up to " if backoff.jitter == "full" else ""
    text = (
        f"Up to {counted(attempts, 'attempt')}; between them {spread}{backoff.initial},"
        f" then {backoff.factor:g} times as long, never over {backoff.max}; {lost}"
    )
    if retry.give_up_after is not None:
        text += f"; given up {retry.give_up_after} after the claim"
    if retry.retry_on:
        text += f"; only after {listed(retry.retry_on, 'or')}"
    if retry.permanent_on:
        text += f"; never after {listed(retry.permanent_on, 'or')}"
    return f"{text}."


def _overlap(overlap: Overlap) -> str:
    text = _OVERLAPS[overlap.policy]
    return f"{text}, at most {counted(overlap.places, 'run')}." if text[-1] != "." else text


def _misfire(misfire: Misfire) -> str:
    age = f", unless it is older than {misfire.max_age}" if misfire.max_age is not None else ""
    match misfire.policy:
        case "skip":
            return "What could not start on time is skipped."
        case "last":
            return f"Of what could not start on time, the last is run{age}."
        case "all":
            most = counted(misfire.max_count, "run")
            return f"All that could not start on time is run, at most {most}{age}."


def _limits(spec: JobSpec) -> str:
    parts = []
    if spec.max_running is not None:
        parts.append(f"at most {counted(spec.max_running, 'run')} at once")
    if spec.rate is not None:
        parts.append(f"at most {spec.rate} starts")
    if spec.concurrency is not None:
        shared = spec.concurrency
        bounds = [
            *([f"{shared.limit} at once"] if shared.limit is not None else []),
            *([f"{shared.rate} starts"] if shared.rate is not None else []),
        ]
        told = f", {listed(bounds)}" if bounds else ""
        parts.append(f"a limit shared by key {shared.key}{told}")
    text = listed(parts)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _keep(keep: Keep | None) -> str:
    if keep is None:
        return f"Runs are kept as the team says, or for {DAYS} days."
    limits = kept(keep)
    runs = f", at most {counted(limits.runs, 'run')}" if limits.runs is not None else ""
    text = f"Runs are kept for {counted(limits.days, 'day')}{runs}"
    if keep.others is not None:
        others = f", at most {limits.others_runs}" if limits.others_runs is not None else ""
        text += f"; those that did not succeed for {counted(limits.others_days, 'day')}{others}"
    return f"{text}."
