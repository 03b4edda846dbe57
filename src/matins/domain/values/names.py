"""What may name a team, a job, a pool, a calendar or a window: one rule for all of them."""

from __future__ import annotations

import re
from typing import Final

from matins.domain.values.errors import Problem, check

DEFAULT_TEAM: Final = "default"
"""Whose job is meant where its name stands alone."""

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9._-]{0,98}[a-z0-9])?", re.ASCII)
_RULE: Final = (
    "use 1 to 100 of a-z, 0-9, '.', '_' and '-', beginning and ending with a letter or digit"
)


def name_problems(where: str, name: str) -> list[Problem]:
    """Return what is wrong with a name, if anything."""
    if _NAME.fullmatch(name):
        return []
    return [Problem(where, f"{name[:60]!r} can't be a name; {_RULE}")]


def check_name(where: str, name: str) -> None:
    """Raise InvalidInputError unless a name may be one."""
    check(name_problems(where, name))
