"""All commands of `matins`, as the program itself knows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer.main

from matins.cli.app import app


def all_commands() -> dict[str, Any]:
    """Return the commands by their full names, such as `jobs list`."""
    return dict(_below("", typer.main.get_command(app)))


def _below(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name, command.load()
        return
    for key, part in list(inner.items()):
        yield from _below(f"{name} {key}".strip(), part)


def is_command(words: list[str]) -> bool:
    """Return whether words after `matins` begin with a command and give only options that it
    has.
    """
    for length in (2, 1):
        command = all_commands().get(" ".join(words[:length]))
        if command is not None:
            known = {name for param in command.params for name in param.opts} | {"--help"}
            options = [word for word in words[length:] if word.startswith("-") and word != "-"]
            given = {option.partition("=")[0] for option in options}
            return given <= known
    return words in (["--help"], ["--version"])
