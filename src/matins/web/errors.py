"""Pages of errors in words: what is wrong, what can be done about it, and the ways back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from matins.domain.values.errors import ProblemDetails

_JOB: Final = re.compile(r"/teams/(?P<team>[^/]+)/jobs/[^/]+")


class ErrorWords(NamedTuple):
    """What a page of an error tells; `ways` lead on, each with its text and its address."""

    heading: str
    text: str
    hint: str
    ways: Sequence[tuple[str, str]]


_HEADINGS: Final = {
    403: "That is not allowed",
    404: "There is no such page",
    405: "That can't be opened",
    503: "It can't be reached just now",
}
_HINTS: Final = {
    403: "Go back, reload the page that you came from, and try it again.",
    404: "It may have been deleted or renamed, or the address was cut off on its way to you.",
    405: "The address is where a form is sent to. Open the page that has the form.",
    503: "Try it again in a moment. What was changed before is stored; jobs go on running.",
}
_MISTYPED: Final = (
    "Something in the address can't be read. Mend it, or start from one of these pages."
)
_FAILED: Final = (
    "It is a fault of Matins, and not yours. Try it again; tell your operators if it stays."
)


def error_words(
    problem: ProblemDetails, text: str, path: str, sections: Sequence[tuple[str, str]]
) -> ErrorWords:
    """Return what is told of a problem at a path; `sections` are the pages of the navigation."""
    status = problem.status
    heading = _HEADINGS.get(status) or (
        "Something went wrong" if status >= 500 else "That can't be shown"
    )
    if text.lower() == problem.title.lower():  # says no more than the status
        text = f"Nothing is at {path[:200]}." if status == 404 else ""
    hint = _HINTS.get(status) or (_FAILED if status >= 500 else _MISTYPED)
    return ErrorWords(heading, text, hint, [*_near(path, sections), ("Overview", "/")])


def _near(path: str, sections: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the lists in which there may be what was looked for."""
    if job := _JOB.match(path):
        team = unquote(job["team"])
        return [(f"Jobs of {team}", f"/jobs?team={quote(team, safe='')}"), ("Jobs", "/jobs")]
    return [
        (text, section)
        for text, section in sections
        if section != "/" and f"{path}/".startswith(f"{section}/")
    ]
