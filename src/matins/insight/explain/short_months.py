"""Which months lack days that a schedule asks for: the 29th, 30th and 31st."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from matins.insight.explain.english import MONTHS, listed, ordinal

_SHORT: Final = {29: {2}, 30: {2}, 31: {2, 4, 6, 9, 11}}
_FEW_DAYS: Final = 7


def say_short_months(days: Iterable[int], months: Sequence[int]) -> str:
    """Say which of some months (from 1) lack which of a few days; empty if none lacks any."""
    asked = sorted(set(days))
    if len(asked) > _FEW_DAYS:
        return ""  # whoever asks for every second day means no end of a month
    said = []
    for day in asked:
        lacking = [month for month in months if month in _SHORT.get(day, ())]
        names = listed(MONTHS[month - 1] for month in lacking)
        if lacking and day == 29:
            said.append(f"{names} has a 29th in leap years only")
        elif lacking:
            said.append(f"{names} {'has' if len(lacking) == 1 else 'have'} no {ordinal(day)}")
    return listed(said)
