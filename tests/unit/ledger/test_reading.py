"""What is wrong with input is named with its place, and with what would be right there."""

from __future__ import annotations

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.domain.calendars.calendar import Calendar
from matins.domain.jobs.spec import JobFile, JobSpec
from matins.domain.jobs.windows import Window
from matins.domain.values.errors import InvalidInputError
from matins.domain.values.reading import DEPTH_MAX, read_json, read_value
from matins.domain.values.shapes import problems_in

TARGET = {"command": {"argv": ["a"]}}
SCALARS = (
    st.none() | st.booleans() | st.integers(0, 9) | st.floats(0, 9) | st.text("aZ0", max_size=3)
)
FIELDS = st.sampled_from(
    [
        *("jobs", "team", "name", "target", "schedule", "retry", "http", "url", "body", "labels"),
        *("command", "argv", "backoff", "priority", "calendars", "exclude", "dates", "starts_at"),
    ]
)
COMMAND = b'"target": {}'


def faults(text: str | bytes) -> dict[str, str]:
    """Return what is wrong with a job, by place; without what is wrong with the meaning of its
    target.
    """
    body = text.encode() if isinstance(text, str) else text
    with pytest.raises(InvalidInputError) as refused:
        read_json(body, JobSpec)
    return {
        problem.where: problem.message
        for problem in refused.value.problems
        if problem.where != "target"
    }


def nested(depth: int) -> bytes:
    body = b"[" * depth + b"]" * depth
    return b'{"name": "a", "target": {"http": {"url": "http://x", "body": %b}}}' % body


@pytest.mark.parametrize(
    ("text", "where", "message"),
    [
        ("", "", "empty"),
        ("{", "", "line 1"),
        ('{"name": "a",\n "target": oops}', "", "line 2 column 12"),
        ("NaN", "", "not JSON"),
        ("[]", "", "it must be a mapping: write `{name: hello, target:"),
        ('{"target": {}}', "name", "is missing"),
        (
            '{"name": "a", "target": {}, "schedul": {}}',
            "schedul",
            "did you mean schedule?",
        ),
        ('{"name": "a", "target": {"http": {"url": "u", "x": 1}}}', "target.http.x", "known are"),
        ('{"name": 1, "target": {}}', "name", "write it in quotes"),
        (
            '{"name": "a", "target": {"command": {"argv": ["a", 1]}}}',
            "target.command.argv[1]",
            "text",
        ),
        (
            '{"name": "a", "target": {}, "priority": "urgent"}',
            "priority",
            "one of high, low, normal",
        ),
        ('{"name": "a\\u0000", "target": {}}', "name", "NUL"),
        ('{"name": "\\ud800", "target": {}}', "name", "surrogate"),
        (
            '{"name": "a", "target": {}, "labels": {"\\u0000": "x"}}',
            "labels (a key)",
            "NUL",
        ),
    ],
)
def test_a_fault_has_its_place_and_its_remedy(text: str, where: str, message: str) -> None:
    [(found, told)] = faults(text).items()
    assert message in told
    assert found == where


def test_bytes_that_are_no_text_are_named() -> None:
    assert "not UTF-8: byte 9" in faults(b'{"name":"\xff"}')[""]


def test_nesting_has_a_bound_well_below_the_stack() -> None:
    assert read_json(nested(DEPTH_MAX - 3), JobSpec)
    for depth in (DEPTH_MAX, 500, 100_000):
        assert "deeper" in faults(nested(depth))[""]


def test_plain_values_are_read_as_strictly() -> None:
    with pytest.raises(InvalidInputError, match=r"retry\.attempts: is a text; it must be a whole"):
        read_value(
            {"name": "a", "target": {}, "retry": {"attempts": "5"}},
            JobSpec,
        )


@given(st.binary(max_size=60))
def test_whatever_comes_is_read_or_refused(body: bytes) -> None:
    for text in (body, b'{"name": "' + body + b'", ' + COMMAND + b"}"):
        with suppress(InvalidInputError):
            assert isinstance(read_json(text, JobSpec), JobSpec)


@pytest.mark.parametrize(
    ("where", "value", "told"),
    [
        ("schedule", "0 9 * * *", 'it must be a mapping: write `schedule: {cron: "0 9 * * *"}`'),
        ("retry", 3, "is a number; it must be a mapping: write `retry: {attempts: 5}`"),
        ("retry", None, "is empty; it must be a mapping: write `retry: {attempts: 5}`"),
        ("labels", ["gold"], "is a list; it must be a mapping: write `labels: {name: value}`"),
        ("pool", 7, 'is a number; it must be a text: write it in quotes, `pool: "7"`'),
        ("timeout", True, 'is true; it must be a text: write it in quotes, `timeout: "true"`'),
        ("priority", "urgent", 'is "urgent"; write one of high, low, normal'),
        ("priority", {}, "is a mapping; write one of high, low, normal"),
    ],
)
def test_a_wrong_shape_is_told_as_it_is_written(where: str, value: object, told: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        read_value({"name": "a", "target": TARGET, where: value}, JobSpec)
    [problem] = refused.value.problems
    assert problem.where == where
    assert told in problem.message


def test_a_command_on_one_line_is_told_as_a_list() -> None:
    with pytest.raises(InvalidInputError, match=r'write `argv: \["echo", "hello"\]`'):
        read_value({"name": "a", "target": {"command": {"argv": "echo hello"}}}, JobSpec)


def test_a_list_that_never_changes_is_told_as_any_other() -> None:
    for wrong, where, told in (
        ("exit:75 timed_out", "retry.retry_on", 'write `retry_on: ["exit:75", "timed_out"]`'),
        ([75], "retry.retry_on[0]", 'it must be a text: write it in quotes, `"75"`'),
    ):
        with pytest.raises(InvalidInputError) as refused:
            read_value({"name": "a", "target": TARGET, "retry": {"retry_on": wrong}}, JobSpec)
        [problem] = refused.value.problems
        assert problem.where == where
        assert told in problem.message


def test_all_that_is_wrong_comes_at_once_with_what_is_wrong_in_meaning() -> None:
    jobs = [
        {"nam": "a", "target": "echo", "retry": {"attempts": "5"}},
        {"name": "b", "target": {"http": {"url": "ftp://x"}}},
    ]
    with pytest.raises(InvalidInputError) as refused:
        read_value({"jobs": jobs, "team": 7}, JobFile)
    assert {problem.where for problem in refused.value.problems} == {
        *("jobs[0].nam", "jobs[0].target", "jobs[0].retry.attempts"),
        *("team", "jobs[1].target.http.url"),
    }


@given(st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(FIELDS, inner)))
def test_whatever_has_a_wrong_shape_is_told_where(value: object) -> None:
    for kind in (JobFile, JobSpec, Calendar, Window):
        try:
            msgspec.convert(value, kind)
        except msgspec.ValidationError:
            assert problems_in(value, kind)
