"""What the upkeep decides."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
import pytest

from matins.domain.jobs.changes import JobRef
from matins.domain.jobs.keeping import Keep, KeepLimits, kept
from matins.domain.runs.following import RecordedRun
from matins.domain.upkeep.auto_delete import EndedJob
from matins.domain.upkeep.healing import SURELY_OVER, StrayRun
from matins.domain.upkeep.retention import FIRST, WALK_EVERY, JobRetention, Scope, Walk
from matins.domain.upkeep.zone_data import AGAIN, ComputedWith
from matins.domain.values.errors import ScheduleError

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
DAY, SECOND = timedelta(days=1), timedelta(seconds=1)
JOB = UUID(int=1)
REF = JobRef("team", "job", JOB, 1)
STRAY = StrayRun(UUID(int=2), UUID(int=3), True, NOW, "10m", NOW)
ENDED = EndedJob(REF, "1h", NOW, None, NOW)


def test_a_run_of_an_executor_that_has_ended_is_abandoned_at_once() -> None:
    assert msgspec.structs.replace(STRAY, is_executor_alive=False).is_abandoned


def test_a_run_of_an_executor_that_lives_is_abandoned_long_after_its_time_out() -> None:
    over = NOW + timedelta(minutes=10) + SURELY_OVER
    assert not msgspec.structs.replace(STRAY, now=over).is_abandoned
    assert msgspec.structs.replace(STRAY, now=over + SECOND).is_abandoned


def test_a_run_with_an_unreadable_time_out_is_left_to_its_executor() -> None:
    assert not msgspec.structs.replace(STRAY, timeout="soon", now=NOW + 9 * DAY).is_abandoned


def test_an_ended_job_counts_from_the_end_of_its_newest_run() -> None:
    later = msgspec.structs.replace(ENDED, now=NOW + timedelta(hours=1))
    assert later.has_expired()
    run = RecordedRun(NOW, None, NOW + SECOND)
    assert not msgspec.structs.replace(later, newest_run=run).has_expired()
    goes_on = RecordedRun(NOW)
    assert not msgspec.structs.replace(later, newest_run=goes_on, now=NOW + DAY).has_expired()


def test_a_job_with_an_unreadable_delay_says_so() -> None:
    with pytest.raises(ScheduleError):
        msgspec.structs.replace(ENDED, delete_after="soon").has_expired()


@pytest.mark.parametrize(
    ("version", "age", "is_stale"),
    [
        (None, timedelta(0), False),
        ("2026a", timedelta(0), True),
        ("2026b", AGAIN - SECOND, False),
        ("2026b", AGAIN, True),
        ("2026c", 9 * AGAIN, False),
    ],
)
def test_due_times_are_compared_with_newer_data_and_again_after_an_hour(
    version: str | None, age: timedelta, is_stale: bool
) -> None:
    assert ComputedWith(version, NOW - age if version else None, NOW).is_stale("2026b") is is_stale


def test_a_walk_begins_once_a_day_and_goes_on_where_it_ended() -> None:
    assert Walk().next(NOW) == (FIRST, NOW)
    assert Walk(JOB, NOW - 9 * DAY).next(NOW) == (JOB, NOW - 9 * DAY)
    assert Walk(None, NOW - WALK_EVERY + SECOND).next(NOW) is None
    assert Walk(None, NOW - WALK_EVERY).next(NOW) == (FIRST, NOW)


@pytest.mark.parametrize(
    ("keep", "differs"),
    [
        (None, False),
        (Keep(days=89), True),
        (Keep(days=90), False),
        (Keep(others=KeepLimits(days=9)), True),
        (Keep(runs=9), True),
        (Keep(others=KeepLimits(runs=9)), True),
    ],
)
def test_a_job_that_keeps_less_than_the_longest_differs(keep: Keep | None, differs: bool) -> None:
    assert JobRetention(JOB, kept(keep)).differs(90) is differs


def test_a_cut_is_where_days_or_the_number_of_runs_say_whichever_is_later() -> None:
    job = JobRetention(JOB, kept(Keep(days=10, runs=5, others=KeepLimits(days=20))), NOW - 30 * DAY)
    cut = job.cut(NOW, NOW - 3 * DAY, None)
    assert (cut.succeeded_until, cut.others_until) == (NOW - 3 * DAY, NOW - 20 * DAY)
    assert (cut.until, cut.since) == (NOW - 3 * DAY, NOW - 30 * DAY)
    assert job.cut(NOW, NOW - 15 * DAY, None).succeeded_until == NOW - 10 * DAY


def test_nothing_is_kept_that_was_due_before_the_longest_time() -> None:
    assert Scope(90, False, NOW).oldest == NOW - 90 * DAY
