"""A job's meaning is checked whole, and each problem names its place."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from matins.domain.jobs.spec import JobFile, JobSpec

GOOD: dict[str, Any] = {
    "name": "nightly",
    "schedule": {"cron": "0 2 * * *", "timezone": "Europe/Berlin", "jitter": "5m"},
    "target": {"http": {"url": "https://settle.example.com/run", "body": {"day": 1}}},
}


def problems(**changes: Any) -> list[str]:
    spec = msgspec.convert(GOOD | changes, JobSpec)
    return [problem.where for problem in spec.problems()]


def test_a_good_job_has_no_problems() -> None:
    assert problems() == []


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"name": "Nightly Run"}, "name"),
        ({"name": ""}, "name"),
        ({"name": "a" * 101}, "name"),
        ({"pool": "../etc"}, "pool"),
        ({"timeout": "0s"}, "timeout"),
        ({"timeout": "-5m"}, "timeout"),
        ({"timeout": "8d"}, "timeout"),
        ({"retry": {"attempts": 0}}, "retry.attempts"),
        ({"retry": {"lost": 101}}, "retry.lost"),
        ({"retry": {"backoff": {"factor": 0.5}}}, "retry.backoff.factor"),
        ({"retry": {"backoff": {"initial": "soon"}}}, "retry.backoff.initial"),
        ({"misfire": {"max_count": 0}}, "misfire.max_count"),
        ({"misfire": {"max_age": "long"}}, "misfire.max_age"),
        ({"schedule": {"cron": "61 * * * *"}}, "schedule.cron"),
        ({"schedule": {"cron": "0 2 * * *", "timezone": "Mars/Base"}}, "schedule.timezone"),
        ({"schedule": {"every": "-5m"}}, "schedule.every"),
        ({"target": {}}, "target"),
        ({"target": {"http": {"url": "x"}, "command": {"argv": ["x"]}}}, "target"),
        ({"target": {"http": {"url": "ftp://x/"}}}, "target.http.url"),
        ({"target": {"http": {"url": "http://x/ y"}}}, "target.http.url"),
        ({"target": {"http": {"url": "http://x:99999/"}}}, "target.http.url"),
        ({"target": {"http": {"url": "http://x/", "method": "BREW"}}}, "target.http.method"),
        (
            {"target": {"http": {"url": "http://x/", "headers": {"A": "b\r\nC: d"}}}},
            "target.http.headers.A",
        ),
        ({"target": {"command": {"argv": []}}}, "target.command.argv"),
        (
            {"target": {"command": {"argv": ["x"], "env": {"MATINS_RUN_ID": "1"}}}},
            "target.command.env.MATINS_RUN_ID",
        ),
        ({"description": "x" * 2001}, "description"),
        ({"labels": {str(n): "x" for n in range(33)}}, "labels"),
        ({"description": "a\0b"}, ""),
    ],
)
def test_a_problem_names_its_place(changes: dict[str, Any], where: str) -> None:
    assert where in problems(**changes)


def test_all_problems_are_told_at_once() -> None:
    found = problems(name="A", pool="B", timeout="x", schedule={"cron": "* *"})
    assert found == ["name", "pool", "schedule.cron", "timeout"]


def test_a_file_names_the_job_by_its_index_and_a_name_used_twice() -> None:
    good = msgspec.convert(GOOD, JobSpec)
    bad = msgspec.structs.replace(good, timeout="x")
    found = JobFile([good, bad], team="T").problems()
    assert [problem.where for problem in found] == ["team", "jobs[1].timeout", "jobs[1].name"]
