"""Whether a database is an older copy of what schedulers have seen."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from matins.domain.runs.restores import FAR_BEHIND, Restore, Seen, Watermarks, find_restore

AT = datetime(2026, 11, 30, 8, tzinfo=UTC)
SEEN = Seen(AT, AT + timedelta(seconds=20))
OLDEST = AT - timedelta(days=2)
NOW = AT + timedelta(minutes=5)


@pytest.mark.parametrize("newest", [AT - timedelta(seconds=61), AT - timedelta(days=1)])
def test_who_has_seen_more_than_the_database_knows_tells_of_a_restore(newest: datetime) -> None:
    restore = Restore(OLDEST, SEEN.until, NOW)
    assert find_restore(SEEN, Watermarks(OLDEST, newest), NOW) == restore


@pytest.mark.parametrize("seconds", [-60, -1, 0, 1, 604_800])
def test_a_fail_over_that_loses_seconds_is_none_and_neither_is_a_long_sleep(seconds: int) -> None:
    known = Watermarks(OLDEST, AT + timedelta(seconds=seconds))
    assert find_restore(SEEN, known, AT + timedelta(days=30)) is None


def test_who_has_seen_nothing_takes_a_database_far_behind_the_clock_for_an_old_copy() -> None:
    known = Watermarks(OLDEST, AT)
    assert find_restore(None, known, AT + FAR_BEHIND) is None
    late = AT + FAR_BEHIND + timedelta(seconds=1)
    assert find_restore(None, known, late) == Restore(OLDEST, late, late)


def test_a_new_database_is_none() -> None:
    assert find_restore(SEEN, None, NOW) is None
    assert find_restore(None, None, NOW) is None
