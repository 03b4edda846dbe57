"""What an attempt calls: one Struct per kind of target, data and limits only."""

from __future__ import annotations

import re
from typing import ClassVar
from urllib.parse import urlsplit

import msgspec

from matins.domain.values.errors import Problem, below

BODY_MAX = 256 * 1024
"""The longest request body or argument list of a target, in characters."""

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_HEADER = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


class HttpTarget(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One HTTP request; a 2xx answer means success."""

    EXAMPLE: ClassVar[str] = '{url: "https://example.com/run"}'

    url: str
    method: str = "POST"
    headers: dict[str, str] = {}
    body: str | dict[str, object] | list[object] | None = None

    def problems(self) -> list[Problem]:
        """Return what is wrong with it; `where` is relative to the target."""
        problems = []
        if self.method not in _METHODS:
            problems.append(
                Problem("method", f"{self.method!r} is not one of {', '.join(sorted(_METHODS))}")
            )
        if why := _url_fault(self.url):
            problems.append(Problem("url", why))
        for name, value in self.headers.items():
            if not _HEADER.fullmatch(name):
                problems.append(Problem(f"headers.{name}", "is not a header name of RFC 9110"))
            if any(mark in value for mark in "\r\n\0"):
                problems.append(Problem(f"headers.{name}", "holds a line break or NUL"))
        if len(msgspec.json.encode(self.body)) > BODY_MAX:
            problems.append(Problem("body", f"is longer than {BODY_MAX} bytes"))
        return problems


class CommandTarget(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One command on the executor's host, without a shell; exit code 0 means success."""

    EXAMPLE: ClassVar[str] = "{argv: [echo, hello]}"

    argv: list[str]
    env: dict[str, str] = {}
    cwd: str | None = None

    def problems(self) -> list[Problem]:
        """Return what is wrong with it; `where` is relative to the target."""
        problems = []
        if not self.argv or not self.argv[0]:
            problems.append(
                Problem("argv", "is empty; name the program first, as in [/usr/bin/backup, --all]")
            )
        if sum(map(len, self.argv)) > BODY_MAX:
            problems.append(Problem("argv", f"is longer than {BODY_MAX} characters in all"))
        for name in self.env:
            if not _VARIABLE.fullmatch(name):
                problems.append(
                    Problem(f"env.{name}", "is not a variable name: letters, digits, underscore")
                )
            elif name.startswith("MATINS_"):
                problems.append(
                    Problem(f"env.{name}", "names beginning with MATINS_ are set by Matins")
                )
        return problems


class CheckinTarget(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Nothing that Matins calls: something else runs the job, and tells of it by `/ping/TOKEN`."""

    EXAMPLE: ClassVar[str] = "{}"

    def problems(self) -> list[Problem]:
        """Return what is wrong with it."""
        return []


class Target(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Exactly one kind of target, named by its key: `{http: {...}}` or `{command: {...}}`."""

    EXAMPLE: ClassVar[str] = "{command: {argv: [echo, hello]}}"

    http: HttpTarget | None = None
    command: CommandTarget | None = None
    checkin: CheckinTarget | None = None

    def given(self) -> dict[str, HttpTarget | CommandTarget | CheckinTarget]:
        """Return the kinds that are given, by name; one, if the target is valid."""
        kinds = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return {name: kind for name, kind in kinds if kind is not None}

    @property
    def kind(self) -> str | None:
        """The kind that is given; None if it is not exactly one."""
        given = list(self.given())
        return given[0] if len(given) == 1 else None

    def problems(self) -> list[Problem]:
        """Return what is wrong with it; `where` is relative to the target."""
        kinds_given = self.given()
        if len(kinds_given) != 1:
            kinds = " or ".join(self.__struct_fields__)
            return [Problem("", f"needs exactly one of {kinds}, has {len(kinds_given)}")]
        [(name, kind)] = kinds_given.items()
        return below(name, kind.problems())


def _url_fault(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        return f"can't be read: {error}"
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        return "is not an absolute http or https URL, as in https://settle.example.com/run"
    if any(ord(mark) <= 32 or ord(mark) == 127 for mark in url):
        return "holds a blank or control character; write it percent-encoded"
    return None
