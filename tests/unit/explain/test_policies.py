"""Policies in words."""

from __future__ import annotations

import pytest

from matins.domain.jobs.spec import JobSpec
from matins.domain.values.reading import read_value
from matins.insight.explain.policies import describe_policies


def told(**fields: object) -> dict[str, str]:
    command = {"command": {"argv": ["true"]}}
    spec = read_value({"name": "x", "target": command, **fields}, JobSpec)
    return dict(describe_policies(spec))


def test_defaults_are_told_and_what_is_not_limited_is_not() -> None:
    words = told()
    assert words["timeout"] == "An attempt may take 10m."
    assert words["retry"].startswith("Not tried again when it fails;")
    assert words["overlap"] == "What is due while a run is unfinished is skipped."
    assert "limits" not in words


@pytest.mark.parametrize(
    ("overlap", "words"),
    [
        ("allow", "Runs may overlap: each starts when it is due."),
        (
            {"policy": "queue", "depth": 3},
            "What is due while a run is unfinished waits for its end, at most 3 runs.",
        ),
    ],
)
def test_overlap(overlap: object, words: str) -> None:
    assert told(overlap=overlap)["overlap"] == words


def test_retries_tell_how_long_they_wait_and_after_what() -> None:
    retry = {"attempts": 5, "backoff": {"initial": "5s", "jitter": "none"}, "retry_on": ["exit:75"]}
    words = told(retry=retry)["retry"]
    assert words.startswith("Up to 5 attempts; between them 5s, then 2 times as long, never over")
    assert words.endswith("only after exit:75.")


def test_limits_are_told_in_one_sentence() -> None:
    shared = {"key": "db", "limit": 2, "rate": "5/m"}
    words = told(max_running=1, rate="10/h", concurrency=shared)["limits"]
    assert words == (
        "At most 1 run at once, at most 10/h starts and a limit shared by key db,"
        " 2 at once and 5/m starts."
    )


def test_what_could_not_start_on_time() -> None:
    words = told(misfire={"policy": "all", "max_age": "6h", "max_count": 10})["misfire"]
    assert words == (
        "All that could not start on time is run, at most 10 runs, unless it is older than 6h."
    )


def test_how_long_runs_are_kept() -> None:
    keep = {"days": 7, "runs": 100, "others": {"days": 30}}
    assert told(keep=keep)["keep"] == (
        "Runs are kept for 7 days, at most 100 runs; those that did not succeed for 30 days."
    )
