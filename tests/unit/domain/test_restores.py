"""Whether a database is an older copy of what schedulers have seen."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from matins.domain.runs.restores import Seen, Watermarks, lost_since

AT = datetime(2026, 11, 30, 8, tzinfo=UTC)
SEEN = Seen(AT, AT + timedelta(seconds=20))
OLDEST = AT - timedelta(days=2)


@pytest.mark.parametrize("newest", [AT - timedelta(seconds=61), AT - timedelta(days=1)])
def test_who_has_seen_more_than_the_database_knows_tells_of_a_restore(newest: datetime) -> None:
    assert lost_since(SEEN, Watermarks(OLDEST, newest)) == OLDEST


@pytest.mark.parametrize("seconds", [-60, -1, 0, 1, 604_800])
def test_a_fail_over_that_loses_seconds_is_none_and_neither_is_a_long_sleep(seconds: int) -> None:
    assert lost_since(SEEN, Watermarks(OLDEST, AT + timedelta(seconds=seconds))) is None


def test_who_has_seen_nothing_tells_of_none() -> None:
    assert lost_since(None, Watermarks(OLDEST, OLDEST)) is None


def test_a_new_database_is_none() -> None:
    assert lost_since(SEEN, None) is None
