"""Why an attempt failed, in a line, and the fingerprint by which alike failures are found."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final, NamedTuple

from matins.domain.runs.attempts import Result
from matins.domain.runs.states import Outcome

ERROR_MAX: Final = 300
"""The longest error, in characters."""

LENGTH: Final = 12
"""How many characters a fingerprint has."""

_FAILURES: Final = frozenset({Outcome.FAILED, Outcome.TIMED_OUT, Outcome.LOST})
_TAIL: Final = 2_000
"""In so many characters at the end of what an attempt wrote its last line is looked for."""

_VARYING: Final = re.compile(
    r"""
    [0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}  # a UUID
    | \d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?(?:Z|[-+]\d\d:?\d\d)?  # an instant
    | (?<![\d:.])\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?![\d:])  # a time of day
    | (?:/var)?/tmp/[^\s'":,;()\[\]]+ | /dev/shm/[^\s'":,;()\[\]]+  # what is temporary
    """,
    re.VERBOSE | re.ASCII,
)
_WORD: Final = re.compile(r"[A-Za-z0-9_]+")
_HEX: Final = re.compile(r"(?:0[xX][0-9a-fA-F]+|[0-9a-fA-F]{8,})", re.ASCII)
_TEMPORARY: Final = re.compile(r"tmp\w{8}", re.ASCII)
_DIGITS: Final = re.compile(r"[0-9]+")
_NUMBER: Final = re.compile(r"(?<!\w)[-+](?=#)|(?<=#)(?:[.,]#)+")
_ID_MIN: Final = 8


class Failure(NamedTuple):
    """Why an attempt failed, and the fingerprint of that; both are empty of one that did not."""

    error: str = ""
    fingerprint: str = ""


def failure_of(result: Result) -> Failure:
    """Return why an attempt failed: its reason, and the last line that it wrote."""
    if result.outcome not in _FAILURES:
        return Failure()
    last_line = result.output[-_TAIL:].rstrip().rpartition("\n")[2].strip()
    error = f"{result.reason}: {last_line}" if last_line else result.reason
    alike = (result.outcome, result.exit_code, result.http_status, pattern_of(error))
    digest = sha256(repr(alike).encode(errors="replace")).hexdigest()
    return Failure(error[:ERROR_MAX], digest[:LENGTH])


def pattern_of(error: str) -> str:
    """Return an error without what differs from time to time: numbers, ids, times, hexadecimal
    digits, temporary files.
    """
    plain = _WORD.sub(_plain_word, _VARYING.sub("#", error[:_TAIL]))
    return " ".join(_NUMBER.sub("", plain).split())[:ERROR_MAX]


def _plain_word(match: re.Match[str]) -> str:
    word = match[0]
    groups = _DIGITS.findall(word)
    if _TEMPORARY.fullmatch(word) or (groups and _HEX.fullmatch(word)):
        return "#"
    is_id = len(groups) > 1 and len(word) >= _ID_MIN
    return "#" if is_id else _DIGITS.sub("#", word)
