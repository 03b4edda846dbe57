"""Lines by which a command tells of itself: `::progress`, `::set` and `::mask`.

They are looked for in all that it writes, so that looking must cost next to nothing. Imports the
standard library only, because the keeper uses it too.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from matins.executor.masking import Mask
from matins.executor.output import clean

LINE_MAX = 8 * 1024
"""The longest such line, in bytes; a longer one is output like any other."""

RESULTS_MAX = 50
"""The most results of an attempt."""

VALUE_MAX = 1000
"""The longest value of a result, in characters."""

TEXT_MAX = 200
"""The longest text beside a progress, in characters."""

_MARK = b"\n::"
_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]{0,63})=(.*)")
_PROGRESS = re.compile(
    r"(?:(?P<done>\d{1,15}(?:\.\d{1,6})?)"
    r"(?: ?/ ?(?P<total>\d{1,15}(?:\.\d{1,6})?)|(?P<percent> ?%))?(?![\w.]))? *(?P<text>.*)"
)


class ProgressMade(NamedTuple):
    """How far a command has come, in the words of `domain.runs.output.Progress`."""

    done: float | None
    total: float | None
    text: str


class Markers:
    """What a command has told of itself so far. Values to be masked go to the mask at once."""

    def __init__(self, mask: Mask) -> None:
        self.progress: ProgressMade | None = None
        self.results: dict[str, str] = {}
        self.refused = 0
        """How many results were too many, too long, or no results."""
        self._mask = mask
        self._line = b"\n"
        """The line that has begun, with the line feed before it, if it may become a marker."""

    def feed(self, chunk: bytes) -> None:
        """Look through the next bytes; none are the end."""
        if not chunk:
            chunk = b"\n"
        text = self._line + chunk if self._line else chunk
        at = text.find(_MARK)
        while at >= 0:
            end = text.find(b"\n", at + 1)
            if end < 0:
                break
            if end - at <= LINE_MAX:
                self._read(clean(text[at + len(_MARK) : end]).rstrip())
            at = text.find(_MARK, end)
        start = text.rfind(b"\n")
        rest = text[start:] if start >= 0 else b""
        may_be = rest.startswith(_MARK) or _MARK.startswith(rest)
        self._line = rest if may_be and len(rest) <= LINE_MAX else b""

    def _read(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        match word:
            case "progress":
                self.progress = _progress(rest.strip())
            case "set":
                self._set(rest)
            case "mask":
                self._mask.add(rest)

    def _set(self, text: str) -> None:
        match = _KEY.fullmatch(text)
        is_new = match is not None and match[1] not in self.results
        if (
            match is None
            or len(match[2]) > VALUE_MAX
            or (is_new and len(self.results) >= RESULTS_MAX)
        ):
            self.refused += 1
        else:
            self.results[match[1]] = match[2]


def _progress(text: str) -> ProgressMade:
    match = _PROGRESS.match(text)
    assert match, "the pattern matches every line"
    done, total = match["done"], match["total"]
    if match["percent"]:
        total = "100"
    return ProgressMade(
        float(done) if done else None, float(total) if total else None, match["text"][:TEXT_MAX]
    )
