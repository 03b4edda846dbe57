"""What is wrong with a schedule, as it is found while the schedule is parsed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

from matins.domain.values.errors import Problem, ScheduleError

_Parsed = TypeVar("_Parsed")
_Arguments = TypeVarTuple("_Arguments")


class ProblemReport:
    """Problems by field, each once, in the order in which they were found."""

    __slots__ = ("_found", "_prefix")

    def __init__(self) -> None:
        self._found: dict[Problem, None] = {}
        self._prefix = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was found."""
        return not self._found

    @property
    def problems(self) -> list[Problem]:
        """All that was found so far."""
        return list(self._found)

    def below(self, where: str) -> ProblemReport:
        """Return the same report for the fields of a part."""
        part = ProblemReport()
        part._found, part._prefix = self._found, f"{self._prefix}{where}."
        return part

    def add(self, field: str, message: str) -> None:
        """Report a problem of a field."""
        self._found[Problem(f"{self._prefix}{field}", message)] = None

    def attempt(
        self, field: str, parse: Callable[[*_Arguments], _Parsed], *arguments: *_Arguments
    ) -> _Parsed | None:
        """Return what a field is parsed to; None if it can't be, which is reported."""
        try:
            return parse(*arguments)
        except ScheduleError as error:
            self.add(field, str(error))
            return None
