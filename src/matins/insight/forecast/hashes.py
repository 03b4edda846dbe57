"""The numbers that `H` takes from a job's id: jobs with the same ones are due at the same times."""

from __future__ import annotations

import re
from typing import Final

from matins.domain.schedules.cron.expression import Dialect
from matins.domain.schedules.cron.fields import QUARTZ_FIELDS, UNIX_FIELDS, YEAR, Field
from matins.domain.values.hashing import stable_number

_HASHED: Final = re.compile(r"H(?:\((\d{1,4})-(\d{1,4})\))?(?:/(\d{1,4}))?", re.ASCII)

Draw = tuple[int, str]
"""One number of `spread.stable_number`: its size and the field for which it is taken."""


def draws(expression: str, dialect: Dialect) -> list[Draw] | None:
    """Give the numbers on which an expression's `H` depend; None where that can't be told.

    The expression is one that `cron.parse_cron` takes.
    """
    texts = expression.upper().split()
    if texts[0].startswith("@"):
        return None
    fields = [*(QUARTZ_FIELDS if dialect == "quartz" else UNIX_FIELDS), YEAR]
    found = dict[Draw, None]()
    for field, text in zip(fields[len(texts) == 5 :], texts, strict=False):
        for item in text.split(","):
            if item.startswith("H"):
                match = _HASHED.fullmatch(item)
                if match is None:
                    return None
                found[_size(field, match), field.name] = None
    return list(found)


def draw(wanted: list[Draw], seed: str) -> tuple[int, ...]:
    """Give the numbers of one job."""
    return tuple([stable_number(size, seed, name) for size, name in wanted])


def _size(field: Field, match: re.Match[str]) -> int:
    low, high, step = match.groups()
    count = field.hash_high - field.low + 1 if low is None else int(high) - int(low) + 1
    return count if step is None else min(int(step), count)
