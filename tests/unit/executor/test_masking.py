"""Secrets are replaced wherever they stand in the text, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.executor.masking import VALUE_MAX, Mask, secrets_of
from matins.executor.output import HeadTail

SECRET = "s3cret-value"


def test_values_are_secret_by_the_names_of_their_variables_or_headers() -> None:
    env = {"API_TOKEN": "token-1", "db_password": "pass-2", "AWS_SECRET_ACCESS_KEY": "key-3"}
    others = {"HOME": "/root", "LEVEL": "debug", "KEYBOARD": "qwerty-us", "AUTHOR": "jane-doe"}
    assert set(secrets_of(env | others)) == set(env.values())
    assert secrets_of({"Authorization": "Bearer abc.def"}) == ["Bearer abc.def", "abc.def"]


@pytest.mark.parametrize(
    ("value", "text", "masked"),
    [
        (SECRET, f"a {SECRET} and {SECRET}", "a *** and ***"),
        ("short", "short stays", "short stays"),
        ("line-one-1\nx\nline-two-2\n", "line-one-1 x line-two-2", "*** x ***"),
        ("a.b*c[d]e", "a.b*c[d]e aXbXc", "*** aXbXc"),
    ],
)
def test_a_secret_is_masked_by_lines_and_only_if_it_is_long(
    value: str, text: str, masked: str
) -> None:
    assert Mask([value]).apply(text) == masked


def test_of_two_secrets_the_longer_is_masked_whole() -> None:
    assert Mask(["password", "password-and-more"]).apply("password-and-more") == "***"


def test_a_very_long_secret_is_masked_as_far_as_it_is_known() -> None:
    assert Mask(["k" * (VALUE_MAX + 3)]).apply("k" * (VALUE_MAX + 3)) == "***kkk"


@given(st.integers(0, 12), st.integers(0, 12))
def test_a_secret_that_is_cut_in_the_middle_is_not_shown_in_part(before: int, after: int) -> None:
    raw = b"x" * (20 - before) + SECRET.encode() + b"-" * 20 + SECRET.encode() + b"y" * (20 - after)
    output = HeadTail(20, 20)
    output.append(raw)
    head, _, tail = output.text(Mask([SECRET])).split("\n")
    parts = [SECRET[:length] for length in range(1, len(SECRET))]
    assert not any(head.endswith(part) for part in parts)
    assert head.startswith("x" * (20 - before))
    assert not any(tail.startswith(SECRET[-length:]) for length in range(1, len(SECRET)))
    assert tail.endswith("y" * (20 - after))
