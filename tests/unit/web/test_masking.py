"""Secrets of targets and inputs are not shown, and come back as they were."""

from __future__ import annotations

import pytest

from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import CommandTarget, HttpTarget, Target
from matins.domain.runs.inputs import RunInput
from matins.domain.values.errors import InvalidInputError
from matins.web.diffs import spec_diff
from matins.web.inputs import InputForm, input_form, read_input
from matins.web.masking import masked_input, masked_target

SECRET = "tok_live_9d8f"
COMMAND = Target(
    command=CommandTarget(["pay", "--api-key", SECRET], {"PAY_TOKEN": SECRET, "DAY": "1"})
)
HTTP = Target(
    http=HttpTarget(
        f"https://user:{SECRET}@pay.example.com/run?token={SECRET}&day=1",
        headers={"Authorization": f"Bearer {SECRET}", "X-Team": "payments"},
        body={"day": 1, "auth": {"password": SECRET, "tries": 2}, "all": [{"api_key": SECRET}]},
    )
)


@pytest.mark.parametrize("target", [COMMAND, HTTP])
def test_no_secret_of_a_target_is_shown(target: Target) -> None:
    shown = str(masked_target(target))
    assert SECRET not in shown
    assert "***" in shown


def test_what_is_no_secret_is_shown() -> None:
    http = masked_target(HTTP).http
    assert http is not None
    assert http.url == "https://***@pay.example.com/run?token=***&day=1"
    assert http.headers["X-Team"] == "payments"
    assert http.body == {
        "day": 1,
        "auth": {"password": "***", "tries": 2},
        "all": [{"api_key": "***"}],
    }


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        (["--token=abc", "x"], ["--token=***", "x"]),
        (["--token", "abc", "x"], ["--token", "***", "x"]),
        (["--verbose", "abc"], ["--verbose", "abc"]),
        (["--token", "--day", "1"], ["--token", "--day", "1"]),
    ],
)
def test_options_with_a_secret_name_are_masked(args: list[str], shown: list[str]) -> None:
    assert masked_input(RunInput(args)).args == shown


def _posted(form: InputForm) -> dict[str, object]:
    """Return what a browser sends of a form: with line ends as it makes them."""
    return {
        name: text.replace("\n", "\r\n")
        for name, text in form._asdict().items()
        if text is not None
    }


@pytest.mark.parametrize(
    ("target", "given"),
    [
        (COMMAND, RunInput(["--token", SECRET, "now"], {"PAY_TOKEN": SECRET, "DAY": "2 3"})),
        (HTTP, RunInput(headers={"X-Key": SECRET, "X-Day": "1"}, body={"key": SECRET, "n": [1]})),
        (HTTP, RunInput(body="plain text\nof two lines")),
    ],
)
def test_a_form_that_nobody_touches_gives_what_was_given(target: Target, given: RunInput) -> None:
    form = input_form(JobSpec("pay", target), given)
    assert SECRET not in str(form)
    assert read_input(_posted(form), given) == given


def test_only_what_the_target_has_can_be_typed() -> None:
    form = input_form(JobSpec("pay", COMMAND))
    assert (form.args, form.env, form.headers, form.body) == ("", "", None, None)


@pytest.mark.parametrize(
    ("field", "text", "message"),
    [
        ("env", "DAY", "has no = in a line"),
        ("headers", "X-Day", "has no : in a line"),
        ("body", '{"day": ', "begins as JSON and is none"),
    ],
)
def test_what_can_not_be_read_is_told(field: str, text: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        read_input({field: text})


def test_a_difference_names_the_lines_and_no_secret() -> None:
    other = Target(command=CommandTarget(["pay"], {"PAY_TOKEN": SECRET, "DAY": "2"}))
    lines = spec_diff(JobSpec("pay", COMMAND), JobSpec("pay", other))
    changed = [line.text for line in lines if line.kind]
    assert "-      DAY: '1'" in changed
    assert "+      DAY: '2'" in changed
    assert SECRET not in str(lines)
    assert spec_diff(JobSpec("pay", COMMAND), JobSpec("pay", COMMAND)) == []
