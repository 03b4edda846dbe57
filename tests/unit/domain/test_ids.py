"""Ids are functions of what they name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from matins.domain.values.ids import PARTITIONS, due_of, partition_of, run_id, whole_ms

dues = st.integers(0, 253_402_214_400_000).map(
    lambda ms: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
)
JOB = UUID("7f1c7f0e-0000-4000-8000-000000000001")


@given(due=dues)
def test_the_due_time_can_be_read_back(due: datetime) -> None:
    assert due_of(run_id(JOB, due, "scheduled")) == due


@given(due=dues)
def test_it_is_a_uuid_of_version_8(due: datetime) -> None:
    name = run_id(JOB, due, "scheduled")
    assert (name.version, name.variant) == (8, "specified in RFC 4122")


@given(earlier=dues, later=dues)
def test_ids_sort_by_due_time(earlier: datetime, later: datetime) -> None:
    if earlier < later:
        assert run_id(JOB, earlier, "scheduled") < run_id(JOB, later, "scheduled")


def test_the_same_three_always_give_the_same_name() -> None:
    due = datetime(2026, 3, 29, 1, 0, tzinfo=UTC)
    assert str(run_id(JOB, due, "scheduled")) == str(run_id(JOB, due, "scheduled"))
    others = {run_id(JOB, due, "manual"), run_id(UUID(int=7), due, "scheduled")}
    assert run_id(JOB, due, "scheduled") not in others


def test_a_due_time_keeps_whole_milliseconds() -> None:
    instant = datetime(2026, 1, 1, 0, 0, 0, 123_999, tzinfo=UTC)
    assert whole_ms(instant) == instant - timedelta(microseconds=999)


def test_jobs_are_spread_over_all_partitions() -> None:
    counts = [0] * PARTITIONS
    for number in range(PARTITIONS * 100):
        counts[partition_of(UUID(int=number))] += 1
    assert min(counts) > 50
    assert max(counts) < 200
