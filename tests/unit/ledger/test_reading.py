"""What is wrong with input is named with its place, and with what would be right there."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.domain.errors import InvalidInputError, Problem
from matins.domain.jobs import JobSpec
from matins.domain.reading import DEPTH_MAX, read_json, read_value

COMMAND = b'"target": {"command": {"argv": ["a"]}}'


def fault(text: str | bytes) -> Problem:
    body = text.encode() if isinstance(text, str) else text
    with pytest.raises(InvalidInputError) as refused:
        read_json(body, JobSpec)
    [problem] = refused.value.problems
    return problem


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
        ("[]", "", "expected `object`, got `array`"),
        ('{"target": {}}', "name", "is missing"),
        ('{"name": "a", "target": {}, "schedul": {}}', "schedul", "did you mean schedule?"),
        ('{"name": "a", "target": {"http": {"url": "u", "x": 1}}}', "target.http.x", "known are"),
        ('{"name": 1, "target": {}}', "name", "write it in quotes"),
        (
            '{"name": "a", "target": {"command": {"argv": ["a", 1]}}}',
            "target.command.argv[1]",
            "str",
        ),
        (
            '{"name": "a", "target": {}, "priority": "urgent"}',
            "priority",
            "one of high, low, normal",
        ),
        ('{"name": "a\\u0000", "target": {}}', "name", "NUL"),
        ('{"name": "\\ud800", "target": {}}', "name", "surrogate"),
        ('{"name": "a", "target": {}, "labels": {"\\u0000": "x"}}', "labels (a key)", "NUL"),
    ],
)
def test_a_fault_has_its_place_and_its_remedy(text: str, where: str, message: str) -> None:
    found = fault(text)
    assert message in found.message
    assert found.where == where


def test_bytes_that_are_no_text_are_named() -> None:
    assert "not UTF-8: byte 9" in fault(b'{"name":"\xff"}').message


def test_nesting_has_a_bound_well_below_the_stack() -> None:
    assert read_json(nested(DEPTH_MAX - 3), JobSpec)
    for depth in (DEPTH_MAX, 500, 100_000):
        assert "deeper" in fault(nested(depth)).message


def test_plain_values_are_read_as_strictly() -> None:
    with pytest.raises(InvalidInputError, match=r"retry\.attempts: expected `int`, got `str`"):
        read_value({"name": "a", "target": {}, "retry": {"attempts": "5"}}, JobSpec)


@given(st.binary(max_size=60))
def test_whatever_comes_is_read_or_refused(body: bytes) -> None:
    for text in (body, b'{"name": "' + body + b'", ' + COMMAND + b"}"):
        with suppress(InvalidInputError):
            assert isinstance(read_json(text, JobSpec), JobSpec)
