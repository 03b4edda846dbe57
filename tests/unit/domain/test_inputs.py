"""What a trigger changes of a target, and what it may not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.domain.jobs.targets import CommandTarget, HttpTarget, Target
from matins.domain.runs.inputs import (
    KEY_MAX,
    NO_INPUT,
    RunInput,
    input_problems,
    key_problems,
    with_input,
)
from matins.domain.values.errors import InvalidInputError

COMMAND = Target(command=CommandTarget(["backup", "--all"], {"DAY": "1", "ZONE": "a"}, "/tmp"))
HTTP = Target(
    http=HttpTarget("http://x.example/", "PUT", {"X-Day": "1", "Authorization": "b"}, {"day": 1})
)
texts = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=4)


def test_arguments_go_behind_and_variables_over_those_of_the_job() -> None:
    changed = with_input(COMMAND, RunInput(args=["--dry-run"], env={"DAY": "2", "NEW": "x"}))
    assert changed.command == CommandTarget(
        ["backup", "--all", "--dry-run"], {"DAY": "2", "ZONE": "a", "NEW": "x"}, "/tmp"
    )


def test_headers_replace_those_of_the_same_name_however_it_is_written() -> None:
    changed = with_input(HTTP, RunInput(headers={"x-day": "2", "X-New": "y"}, body=["all"]))
    assert changed.http == HttpTarget(
        "http://x.example/", "PUT", {"Authorization": "b", "x-day": "2", "X-New": "y"}, ["all"]
    )


@pytest.mark.parametrize("body", ["", {}, []])
def test_a_body_may_be_empty(body: str | dict[str, object] | list[object]) -> None:
    http = with_input(HTTP, RunInput(body=body)).http
    assert http is not None
    assert http.body == body


@pytest.mark.parametrize("target", [COMMAND, HTTP])
def test_no_input_changes_nothing(target: Target) -> None:
    assert with_input(target, NO_INPUT) == target
    assert input_problems(target, NO_INPUT) == []


@given(st.lists(texts), st.dictionaries(texts, texts))
def test_a_command_keeps_all_that_an_input_does_not_name(
    args: list[str], env: dict[str, str]
) -> None:
    command = with_input(COMMAND, RunInput(args=args, env=env)).command
    assert command is not None
    assert command.argv == ["backup", "--all", *args]
    assert command.env == {"DAY": "1", "ZONE": "a"} | env


@pytest.mark.parametrize(
    ("target", "given", "where", "right"),
    [
        (COMMAND, RunInput(body="x"), "body", "args and env"),
        (COMMAND, RunInput(body=""), "body", "args and env"),
        (COMMAND, RunInput(headers={"a": "b"}), "headers", "args and env"),
        (HTTP, RunInput(env={"A": "b"}), "env", "headers and body"),
        (HTTP, RunInput(args=["x"]), "args", "headers and body"),
    ],
)
def test_what_is_nothing_of_the_target_is_refused_with_what_would_be_right(
    target: Target, given: RunInput, where: str, right: str
) -> None:
    [problem] = input_problems(target, given)
    assert problem.where == where
    assert problem.message.endswith(f"takes {right}")
    with pytest.raises(InvalidInputError):
        with_input(target, given)


@pytest.mark.parametrize(
    ("target", "given", "where"),
    [
        (COMMAND, RunInput(env={"1A": "x"}), "env.1A"),
        (COMMAND, RunInput(env={"MATINS_JOB": "x"}), "env.MATINS_JOB"),
        (COMMAND, RunInput(args=["x" * 300_000]), "args"),
        (HTTP, RunInput(headers={"a b": "x"}), "headers.a b"),
        (HTTP, RunInput(headers={"A": "x\r\ny"}), "headers.A"),
        (HTTP, RunInput(body="x" * 300_000), "body"),
    ],
)
def test_what_the_job_could_not_have_an_input_can_not_have(
    target: Target, given: RunInput, where: str
) -> None:
    assert [problem.where for problem in input_problems(target, given)] == [where]


def test_equal_inputs_have_one_fingerprint_and_others_another() -> None:
    first, same = (
        RunInput(body={"a": 1, "b": 2}, headers={"x": "1", "y": "2"}),
        RunInput(body={"b": 2, "a": 1}, headers={"y": "2", "x": "1"}),
    )
    assert first.fingerprint() == same.fingerprint()
    others = (NO_INPUT, RunInput(body={"a": 1}), RunInput(args=["a"]), RunInput(args=["a", ""]))
    assert len({run_input.fingerprint() for run_input in (first, *others)}) == 5
    beside = {run_input.fingerprint(allow_overlap=True) for run_input in (first, *others)}
    assert len(beside | {run_input.fingerprint() for run_input in (first, *others)}) == 10


@pytest.mark.parametrize("key", ["", "x" * (KEY_MAX + 1), "a\n", "ä"])
def test_a_key_is_printable_and_not_too_long(key: str) -> None:
    assert [problem.where for problem in key_problems(key)] == ["Idempotency-Key"]


@pytest.mark.parametrize("key", ["a", "x" * KEY_MAX, "8e03978e-40d5-43dd-bc93-6894a57f9324"])
def test_any_usual_key_will_do(key: str) -> None:
    assert key_problems(key) == []
