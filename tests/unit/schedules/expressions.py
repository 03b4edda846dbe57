"""Cron expressions made at random, each with the plain sets of values that it stands for."""

from __future__ import annotations

from datetime import datetime

import msgspec
from hypothesis import strategies as st


class Made(msgspec.Struct, frozen=True):
    """One field: its text and its values."""

    text: str
    values: frozenset[int]


class Expression(msgspec.Struct, frozen=True):
    """Five fields; `matches` follows crontab(5) word by word."""

    minute: Made
    hour: Made
    day: Made
    month: Made
    weekday: Made

    @property
    def text(self) -> str:
        """Return it as an owner writes it."""
        fields = (self.minute, self.hour, self.day, self.month, self.weekday)
        return " ".join(field.text for field in fields)

    @property
    def is_fixed(self) -> bool:
        """Return whether neither minute nor hour begins with a star."""
        return not self.minute.text.startswith("*") and not self.hour.text.startswith("*")

    def matches(self, wall: datetime) -> bool:
        """Return whether a wall time matches."""
        if wall.minute not in self.minute.values or wall.hour not in self.hour.values:
            return False
        by_day = wall.day in self.day.values
        by_weekday = wall.isoweekday() % 7 in {value % 7 for value in self.weekday.values}
        both = self.day.text.startswith("*") or self.weekday.text.startswith("*")
        matches_day = (by_day and by_weekday) if both else (by_day or by_weekday)
        return wall.month in self.month.values and matches_day


def fields(low: int, high: int) -> st.SearchStrategy[Made]:
    """Make one field of numbers."""
    number = st.integers(low, high)
    step = st.integers(1, 6)
    star = st.just(Made("*", frozenset(range(low, high + 1))))
    stepped = step.map(lambda n: Made(f"*/{n}", frozenset(range(low, high + 1, n))))
    single = number.map(lambda n: Made(str(n), frozenset({n})))
    spans = st.tuples(number, number).filter(lambda ends: ends[0] < ends[1])
    span = spans.map(lambda e: Made(f"{e[0]}-{e[1]}", frozenset(range(e[0], e[1] + 1))))
    stepped_span = st.tuples(spans, step).map(
        lambda s: Made(f"{s[0][0]}-{s[0][1]}/{s[1]}", frozenset(range(s[0][0], s[0][1] + 1, s[1])))
    )
    item = single | span | stepped_span | stepped
    several = st.lists(item, min_size=2, max_size=3).map(
        lambda made: Made(
            ",".join(field.text for field in made),
            frozenset[int]().union(*(field.values for field in made)),
        )
    )
    return st.one_of(star, single, stepped, span, stepped_span, several)


def expressions(*, all_months: bool = False) -> st.SearchStrategy[Expression]:
    """Make expressions, about half of them fixed-time."""
    each_month = st.just(Made("*", frozenset(range(1, 13))))
    return st.builds(
        Expression,
        minute=fields(0, 59),
        hour=fields(0, 23),
        day=fields(1, 31),
        month=each_month if all_months else fields(1, 12),
        weekday=fields(0, 7),
    )
