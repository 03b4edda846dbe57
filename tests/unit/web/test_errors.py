"""The page of an error says what is wrong once, what can be done, and where to go on."""

from __future__ import annotations

import pytest

from matins.domain.values.errors import ProblemDetails
from matins.web.errors import ErrorWords, error_words

SECTIONS = [("Overview", "/"), ("Jobs", "/jobs"), ("Runs", "/runs"), ("Teams", "/teams")]


def words(status: int, title: str, text: str = "", path: str = "/") -> ErrorWords:
    return error_words(ProblemDetails("", title, status), text or title, path, SECTIONS)


def test_not_found_is_not_said_twice() -> None:
    told = words(404, "Not Found", path="/nothing-here")
    assert told.heading == "There is no such page"
    assert told.text == "Nothing is at /nothing-here."
    assert told.ways == [("Overview", "/")]


def test_what_is_known_of_it_is_told() -> None:
    told = words(404, "Not found", "team payments has no job 'nigthly'", "/teams/payments/jobs/x")
    assert told.text == "team payments has no job 'nigthly'"


@pytest.mark.parametrize(
    ("path", "ways"),
    [
        ("/runs/0199", ["/runs", "/"]),
        ("/runs", ["/runs", "/"]),
        ("/runsome", ["/"]),
        ("/teams/nobody", ["/teams", "/"]),
        ("/teams/pay%2Fments/jobs/x/runs", ["/jobs?team=pay%2Fments", "/jobs", "/"]),
    ],
)
def test_there_are_ways_back(path: str, ways: list[str]) -> None:
    assert [address for _, address in words(404, "Not Found", path=path).ways] == ways


@pytest.mark.parametrize("status", [400, 403, 404, 405, 422, 429, 500, 503])
def test_every_error_has_words_that_help(status: int) -> None:
    told = words(status, "Some Title")
    assert told.heading
    assert told.hint
    assert "Some Title" not in (told.heading, told.text)
