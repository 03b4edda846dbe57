"""The planted faults: small edits of the product, each of which some fast test must find."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import msgspec

FOLDER = Path(__file__).parent / "faults"


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One edit: in `file`, below src/matins, the text `find` becomes `plant`.

    White space counts as any other white space does, so that a fault survives formatting. With
    `within`, the first `find` after that text is meant; without, there must be one in the file.
    `tests` are played first.
    """

    name: str
    file: str
    find: str
    plant: str
    within: str = ""
    tests: list[str] = []


class Area(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The faults of one part of the product, and the tests that cover it, the fastest first."""

    tests: list[str]
    fault: list[Fault]

    def tests_of(self, fault: Fault) -> list[str]:
        """Return what to play for a fault, in order."""
        return [*fault.tests, *(test for test in self.tests if test not in fault.tests)]


class GoneError(Exception):
    """A fault no longer fits the product: its place was changed, so the edit has to follow."""


def load_areas() -> list[Area]:
    """Read all lists of faults."""
    return [
        msgspec.convert(tomllib.loads(path.read_text("utf-8")), Area)
        for path in sorted(FOLDER.glob("*.toml"))
    ]


def planted(fault: Fault, text: str) -> str:
    """Return a file's text with the fault in it. Raises GoneError if it has no such place."""
    start = 0
    if fault.within:
        place = _pattern(fault.within).search(text)
        if place is None:
            raise GoneError(f"there is no {fault.within!r}")
        start = place.end()
    found = list(_pattern(fault.find).finditer(text, start))
    if not found:
        raise GoneError(f"there is no {fault.find!r}")
    if len(found) > 1 and not fault.within:
        raise GoneError(f"{fault.find!r} is there {len(found)} times; say within what")
    first, end = found[0].span()
    changed = text[:first] + fault.plant + text[end:]
    if changed == text:
        raise GoneError("it changes nothing")
    if fault.file.endswith(".py"):
        try:
            ast.parse(changed)
        except SyntaxError as error:
            raise GoneError(f"with it the file can't be read: {error}") from error
    return changed


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(r"\s+".join(map(re.escape, text.split())))
