"""A maintenance window: what is wrong with one, whom it means, and what the rows say of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest

from matins.domain.jobs.windows import AHEAD_MAX, LENGTH_MAX, Window, window_at
from matins.domain.values.reading import read_json

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)


def window(**given: object) -> Window:
    """One from an hour from now on, for two hours."""
    return msgspec.structs.replace(Window("upgrade", NOW + HOUR, NOW + 3 * HOUR), **given)


def test_a_sound_window_has_no_problems() -> None:
    assert window().problems(NOW) == []
    assert window(starts_at=NOW - HOUR, ends_at=NOW + SECOND).problems(NOW) == []
    assert window(ends_at=NOW + HOUR + LENGTH_MAX).problems(NOW) == []


@pytest.mark.parametrize(
    ("given", "where", "message"),
    [
        ({"name": "Upgrade!"}, "name", "can't be a name"),
        ({"ends_at": NOW + HOUR}, "ends_at", "must lie after starts_at"),
        ({"starts_at": NOW - HOUR, "ends_at": NOW}, "ends_at", "lies in the past"),
        ({"ends_at": NOW + HOUR + LENGTH_MAX + SECOND}, "ends_at", "more than 31 days"),
        ({"ends_at": NOW + AHEAD_MAX + SECOND}, "ends_at", "more than ten years ahead"),
        ({"starts_at": datetime(2026, 11, 30)}, "starts_at", "has no offset"),  # noqa: DTZ001
        ({"ends_at": datetime(2026, 11, 30)}, "ends_at", "has no offset"),  # noqa: DTZ001
        ({"labels": {str(n): "" for n in range(33)}}, "labels", "are more than 32"),
        ({"reason": "x" * 501}, "reason", "is longer than 500"),
    ],
)
def test_what_is_wrong_is_told_where_it_is(
    given: dict[str, object], where: str, message: str
) -> None:
    [problem] = window(**given).problems(NOW)
    assert problem.where == where
    assert message in problem.message


def test_all_problems_are_told_at_once() -> None:
    wrong = window(name="", ends_at=NOW - HOUR, reason="x" * 501)
    assert [problem.where for problem in wrong.problems(NOW)] == ["name", "ends_at", "reason"]


def test_an_instant_far_out_is_refused_and_not_stumbled_over() -> None:
    first, last = b"0001-01-01T00:00:00+14:00", b"9999-12-31T23:00:00-12:00"
    text = b'{"name": "a", "starts_at": "%s", "ends_at": "%s"}' % (first, last)
    assert [problem.where for problem in read_json(text, Window).problems(NOW)] == ["ends_at"]


def test_it_covers_its_first_instant_and_not_its_last() -> None:
    edges = [window().covers({}, NOW + hours * HOUR) for hours in (1, 2, 3)]
    assert edges == [True, True, False]
    assert not window().covers({}, NOW + HOUR - SECOND)


@pytest.mark.parametrize(
    ("labels", "is_meant"),
    [
        ({"tier": "gold", "zone": "eu"}, True),
        ({"tier": "gold", "zone": "eu", "more": "x"}, True),
        ({"tier": "gold"}, False),
        ({"tier": "tin", "zone": "eu"}, False),
        ({}, False),
    ],
)
def test_it_means_the_jobs_that_have_all_of_its_labels(
    labels: dict[str, str], is_meant: bool
) -> None:
    chosen = window(labels={"tier": "gold", "zone": "eu"})
    assert chosen.covers(labels, NOW + HOUR) is is_meant
    assert window().covers(labels, NOW + HOUR)


def test_of_several_one_that_skips_decides_and_else_the_last_to_end() -> None:
    short = window(name="short")
    long = window(name="long", ends_at=NOW + 9 * HOUR)
    skips = window(name="skips", policy="skip")
    assert window_at([short, long], {}, NOW + HOUR) is long
    assert window_at([short, skips, long], {}, NOW + HOUR) is skips
    assert window_at([short, skips, long], {}, NOW + 4 * HOUR) is long
    assert window_at([short, skips, long], {}, NOW) is None
    assert window_at([], {}, NOW + HOUR) is None


def test_where_it_stands() -> None:
    states = [window().state(NOW + hours * HOUR) for hours in (0, 1, 3)]
    assert states == ["coming", "in_force", "past"]


def test_the_reason_names_the_window_and_its_end_in_utc() -> None:
    berlin = timezone(HOUR)
    held = window(ends_at=datetime(2026, 12, 1, 1, tzinfo=berlin))
    assert held.run_reason == "held by maintenance upgrade until 2026-12-01T00:00:00Z"
    assert window(policy="skip").run_reason == "maintenance upgrade"
    assert window(policy="skip", reason="new disks").run_reason == "maintenance upgrade: new disks"
