"""Secrets in the output of targets: which they are, and how they are replaced.

Imports little, because the keeper uses it too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from matins.domain.values.secrets import MASK, looks_secret

NAMED_MIN = 8
"""The shortest value that is taken for a secret because of its name, in characters."""

TOLD_MIN = 4
"""The shortest value that a target can have masked."""

VALUE_MAX = 4096
"""The longest value, in characters; of a longer one as much is masked as it begins with."""

VALUES_MAX = 200
"""The most values of one attempt."""

_SCHEME = re.compile(r"[A-Za-z][\w-]* +(?=\S)")


def secrets_of(named: Mapping[str, str]) -> list[str]:
    """Return the values of variables or headers whose names look secret.

    Of `Bearer abc…` the part behind the scheme is one by itself.
    """
    values = [value for name, value in named.items() if looks_secret(name)]
    return [part for value in values for part in (value, _SCHEME.sub("", value, count=1))]


class Mask:
    """Replaces secrets in clean text. What has several lines is masked line by line."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: list[str] = []
        for value in values:
            self.add(value, NAMED_MIN)

    def add(self, value: str, shortest: int = TOLD_MIN) -> None:
        """Mask a value from now on, unless it is so short that it would be met by chance."""
        lines = [line.strip()[:VALUE_MAX] for line in value.splitlines()]
        fresh = [line for line in lines if len(line) >= shortest and line not in self._values]
        known = [*self._values, *dict.fromkeys(fresh)][:VALUES_MAX]
        self._values = sorted(known, key=len, reverse=True)  # one may hold another

    def apply(self, text: str) -> str:
        """Return a text without the secrets."""
        for value in self._values:
            text = text.replace(value, MASK)
        return text

    def before_cut(self, text: str) -> str:
        """Return masked text that was cut behind this, and perhaps in the middle of a secret."""
        begun = self.begun(text)
        return text[: len(text) - begun] + MASK if begun else text

    def after_cut(self, text: str) -> str:
        """Return masked text that was cut before this, and perhaps in the middle of a secret."""
        rest = max((_ended(text, value) for value in self._values), default=0)
        return MASK + text[rest:] if rest else text

    def begun(self, text: str) -> int:
        """Return how many characters at the end may be the beginning of a secret."""
        return max((_begun(text, value) for value in self._values), default=0)


def _begun(text: str, value: str) -> int:
    at = max(len(text) - len(value) + 1, 0)
    while (at := text.find(value[0], at)) >= 0:
        if value.startswith(text[at:]):
            return len(text) - at
        at += 1
    return 0


def _ended(text: str, value: str) -> int:
    for length in range(min(len(text), len(value) - 1), 0, -1):
        if value.endswith(text[:length]):
            return length
    return 0
