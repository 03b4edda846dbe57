"""MATINS_TOKENS: further tokens of owners, by name."""

from __future__ import annotations

import pytest

from matins.domain.values.errors import SettingsError
from matins.kernel.settings import named_tokens, read_settings


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", {}),
        ("deploys=abc", {"deploys": "abc"}),
        (" deploys = abc , alice=x=y,", {"deploys": "abc", "alice": "x=y"}),
    ],
)
def test_tokens_are_read_by_name(text: str, tokens: dict[str, str]) -> None:
    settings = read_settings({"MATINS_TOKENS": text})
    assert named_tokens(settings.tokens) == tokens


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("abc", "write them as deploys=SECRET,alice=SECRET"),
        ("deploys=", "write them as"),
        ("=abc", "write them as"),
        ("deploys=abc,deploys=def", "two tokens of one name"),
        ("admin=abc", "any names but admin and"),
        ("Not A Name=abc", ""),
        ("deploys=a b", ""),
    ],
)
def test_tokens_that_make_no_sense_are_refused_by_what_is_wrong(text: str, words: str) -> None:
    with pytest.raises(SettingsError, match=r"^MATINS_TOKENS ") as refused:
        read_settings({"MATINS_TOKENS": text})
    assert words in str(refused.value)
    assert "abc" not in str(refused.value)
