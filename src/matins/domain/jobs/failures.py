"""How an attempt failed, in the words of `retry_on` and `permanent_on`: `exit:75`, `http:5xx`."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

OUTCOMES: Final = ("failed", "timed_out")
"""The outcomes that can be named. Losses are none of them: they have a bound of their own."""

NO_CODE: Final = "none"
"""In place of a code: there was none, as after a signal, or where no answer came."""

_TARGETS: Final = {"exit": "command", "http": "http"}
_LARGEST: Final = {"exit": 255, "http": 999}
_CODES = re.compile(r"(\d{1,3})(?:-(\d{1,3}))?", re.ASCII)
_CLASS = re.compile(r"([1-9])xx", re.ASCII)
_RULE = (
    "is no failure; write failed, timed_out, exit:75, exit:64-78, exit:none, http:429, http:5xx,"
    " http:500-504 or http:none"
)


class AttemptFailure(NamedTuple):
    """How an attempt failed."""

    outcome: str
    exit_code: int | None = None
    http_status: int | None = None


def names(word: str, failure: AttemptFailure) -> bool:
    """Return whether a word names a failure. A code counts only where it decided the outcome."""
    if word in OUTCOMES:
        return failure.outcome == word
    kind, _, codes = word.partition(":")
    if failure.outcome != "failed":
        return False
    code = failure.exit_code if kind == "exit" else failure.http_status
    return codes == NO_CODE if code is None else code in _range(kind, codes)


def word_fault(word: str, target: str | None) -> str | None:
    """Return what is wrong with a word, for a job with this kind of target; None: nothing."""
    if word in OUTCOMES:
        return None
    if word == "lost":
        return "is not named here: `lost` beside it says how often a run may be lost"
    kind, _, codes = word.partition(":")
    if codes != NO_CODE and not _range(kind, codes):
        return _RULE
    fits = _TARGETS.get(kind)
    if fits is None:
        return _RULE
    if target is not None and target != fits:
        return f"is of targets of kind {fits}, and this job's is of kind {target}"
    return None


def _range(kind: str, codes: str) -> range:
    """Return the codes that are named; it is empty if they can't be read."""
    largest = _LARGEST.get(kind, -1)
    if kind == "http" and (hundred := _CLASS.fullmatch(codes)):
        return range(int(hundred[1]) * 100, int(hundred[1]) * 100 + 100)
    match = _CODES.fullmatch(codes)
    if match is None:
        return range(0)
    first, last = int(match[1]), int(match[2] or match[1])
    return range(first, last + 1) if last <= largest else range(0)
