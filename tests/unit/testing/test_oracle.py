"""The oracle computes due times that anybody can check by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from matins.testing.oracle import due_after_end, due_cron, due_every

JOB = UUID(int=1)
DAY = datetime(2026, 11, 29, tzinfo=UTC)


def clock(hour: int, minute: int = 0, second: int = 0) -> datetime:
    """Return a time on that day."""
    return DAY + timedelta(hours=hour, minutes=minute, seconds=second)


def every(seconds: int, since: datetime, until: datetime) -> list[datetime]:
    """Return when a job anchored at noon is due."""
    found = due_every(JOB, "tick", seconds, anchor=clock(12), since=since, until=until)
    return [due.due_at for due in found]


def cron(expression: str, since: datetime, until: datetime) -> list[str]:
    """Return when a cron job is due, as hours and minutes."""
    found = due_cron(JOB, "tick", expression, since=since, until=until)
    return [f"{due.due_at:%H:%M}" for due in found]


def test_every_counts_whole_steps_from_the_anchor() -> None:
    assert every(45, clock(12, 1), clock(12, 3)) == [clock(12, 1, 30), clock(12, 2, 15)]


def test_both_ends_of_the_window_are_outside() -> None:
    assert every(60, clock(12, 1), clock(12, 3)) == [clock(12, 2)]


def test_the_anchor_itself_is_due_and_nothing_before_it() -> None:
    assert every(60, clock(10), clock(12, 1)) == [clock(12)]


def test_what_follows_an_end_is_due_at_a_whole_second_that_is_not_too_early() -> None:
    ends = {
        clock(12, 1): clock(12, 1, 5),
        clock(12, 2, 5): clock(12, 2, 10) + timedelta(milliseconds=1),
        clock(12, 3, 11): None,
    }
    found = due_after_end(JOB, "tick", 60, made=clock(12), ends=ends, until=clock(13))
    assert [due.due_at for due in found] == list(ends)
    found = due_after_end(JOB, "tick", 60, made=clock(12), ends=ends, until=clock(12, 2))
    assert [due.due_at for due in found] == [clock(12, 1)]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("* 2 * * *", [f"02:{minute:02}" for minute in range(60)]),
        ("*/20 2 * * *", ["02:00", "02:20", "02:40"]),
        ("5,10 2,4 * * *", ["02:05", "02:10", "04:05", "04:10"]),
        ("50-59/3 3 * * *", ["03:50", "03:53", "03:56", "03:59"]),
        ("0 1-3 * * *", ["01:00", "02:00", "03:00"]),
        ("40/10 2 * * *", ["02:40", "02:50"]),
    ],
)
def test_cron_walks_over_minutes(expression: str, expected: list[str]) -> None:
    assert cron(expression, clock(0), clock(12)) == expected


def test_the_window_of_cron_has_both_ends_outside() -> None:
    assert cron("* * * * *", clock(2), clock(2, 2)) == ["02:01"]
    assert cron("* * * * *", clock(1, 59, 59), clock(2, 0, 1)) == ["02:00"]


@pytest.mark.parametrize("expression", ["0 2 * * 1", "60 * * * *", "* 7-5 * * *", "* x * * *"])
def test_what_is_not_simple_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match=r"write|within|invalid"):
        cron(expression, clock(0), clock(1))
