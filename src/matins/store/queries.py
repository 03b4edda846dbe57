"""SQL files as named queries: `-- name: claim` begins one, `:limit` is a parameter of it.

A line `-- include: fence` stands for the text of `fragments/fence.sql`: what several statements
have in common is written once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)
_INCLUDE = re.compile(r"^ *-- include: (\w+)$", re.MULTILINE)
_PARAMETER = re.compile(r"(?<![:\w]):([a-z]\w*)")
_NUMBER = re.compile(r"\$(\d+)\b")
_COMMENT = re.compile(r"--[^\n]*")


@dataclass(frozen=True, slots=True)
class Query:
    """One statement, with its parameters in the order of their numbers."""

    name: str
    sql: str
    parameters: tuple[str, ...]

    def arguments(self, args: Mapping[str, object]) -> list[object]:
        """Put named arguments in order. A missing or unknown name is our own mistake."""
        assert args.keys() == set(self.parameters), (self.name, sorted(args), self.parameters)
        return [args[name] for name in self.parameters]

    def pinned(self, **instants: datetime) -> Query:
        """Return this statement with some parameters written out, so that it is planned for them.

        A plan for a few days leaves out the tables of all others; one for any days locks them all.
        """
        kept = [name for name in self.parameters if name not in instants]

        def write(match: re.Match[str]) -> str:
            name = self.parameters[int(match[1]) - 1]
            if name in instants:
                return f"'{instants[name].isoformat()}'"
            return f"${kept.index(name) + 1}"

        return Query(self.name, _NUMBER.sub(write, self.sql), tuple(kept))


def load_queries(file: str) -> dict[str, Query]:
    """Read all queries of an SQL file of this package, by name."""
    text = (files("matins.store") / file).read_text("utf-8")
    parts = _NAME.split(_INCLUDE.sub(_fragment, text))
    return {
        name: _query(f"{file}:{name}", body)
        for name, body in zip(parts[1::2], parts[2::2], strict=True)
    }


def _fragment(included: re.Match[str]) -> str:
    text = (files("matins.store") / "fragments" / f"{included[1]}.sql").read_text("utf-8")
    return _INCLUDE.sub(_fragment, text)


def _query(name: str, body: str) -> Query:
    numbers: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        return f"${numbers.setdefault(match[1], len(numbers) + 1)}"

    sql = _PARAMETER.sub(number, _COMMENT.sub("", body)).strip().removesuffix(";")
    return Query(name, sql, tuple(numbers))
