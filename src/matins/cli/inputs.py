"""What a trigger changes of a job's target, as people type it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
import typer

from matins.cli.applying import read_text
from matins.domain.runs.inputs import RunInput
from matins.domain.values.errors import InvalidInputError, Problem, check

FILE_MARK: Final = "@"

Args = Annotated[
    list[str] | None,
    typer.Option("--arg", help="A further argument of the command; may be repeated."),
]
Env = Annotated[
    list[str] | None,
    typer.Option("--env", metavar="NAME=VALUE", help="A variable of the command's environment."),
]
Headers = Annotated[
    list[str] | None,
    typer.Option("--header", metavar="NAME=VALUE", help="A header of the request."),
]
Body = Annotated[
    str | None,
    typer.Option(help="The body of the request, or @FILE, or @- for stdin; JSON is sent as such."),
]
Key = Annotated[
    str | None,
    typer.Option(help="Repeated with the same key, the answer is how the first run stands."),
]

_JSON = re.compile(r"\s*[{\[]")


def read_input(
    args: Sequence[str] | None,
    env: Sequence[str] | None,
    headers: Sequence[str] | None,
    body: str | None,
) -> RunInput:
    """Read what options say. Raises InvalidInputError."""
    return RunInput(
        args=list(args or ()),
        env=read_pairs("--env", env or ()),
        headers=read_pairs("--header", headers or ()),
        body=None if body is None else _body(body),
    )


def read_pairs(option: str, words: Sequence[str]) -> dict[str, str]:
    """Read what is written as NAME=VALUE. Raises InvalidInputError."""
    wrong = [word for word in words if not word.partition("=")[1]]
    check([Problem(option, f"{word[:40]!r} has no =; write NAME=VALUE") for word in wrong])
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def _body(text: str) -> str | dict[str, object] | list[object]:
    """Read a body: JSON if it begins as an object or a list does, else text as it is."""
    if text.startswith(FILE_MARK):
        _, text = read_text(text.removeprefix(FILE_MARK))
    if not _JSON.match(text):
        return text
    try:
        read: dict[str, object] | list[object] = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise InvalidInputError.at("--body", f"begins as JSON and is none: {error}") from error
    return read
