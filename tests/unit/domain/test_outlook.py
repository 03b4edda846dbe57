"""When a run that waits will probably start."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
import pytest

from matins.domain.runs.outlook import BEFORE_MAX, QueuePlace, outlook
from matins.domain.runs.states import RunState

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
QUEUED = QueuePlace(UUID(int=1), RunState.QUEUED, "", "default", NOON, before=0, gap_s=0.5)
HELD = msgspec.structs.replace(QUEUED, state=RunState.WAITING, reason="window", until=NOON + MINUTE)


@pytest.mark.parametrize(
    ("place", "starts_at"),
    [
        (QUEUED, NOON),
        (msgspec.structs.replace(QUEUED, before=10), NOON + timedelta(seconds=5)),
        (msgspec.structs.replace(QUEUED, before=10, gap_s=None), None),
        (msgspec.structs.replace(QUEUED, before=BEFORE_MAX + 1), None),
        (HELD, NOON + MINUTE),
        (msgspec.structs.replace(HELD, before=10), NOON + MINUTE),
        (msgspec.structs.replace(HELD, before=1_000), NOON + timedelta(seconds=500)),
        (msgspec.structs.replace(HELD, until=None), None),
    ],
)
def test_it_starts_when_its_time_has_come_and_what_is_before_it_has_started(
    place: QueuePlace, starts_at: datetime | None
) -> None:
    assert outlook(place, {"default"}).starts_at == starts_at


def test_without_an_executor_nothing_starts() -> None:
    assert outlook(QUEUED, set()).starts_at is None


def test_no_more_is_told_than_was_counted() -> None:
    told = outlook(msgspec.structs.replace(QUEUED, before=BEFORE_MAX + 1), {"default"})
    assert (told.before, told.is_all) == (BEFORE_MAX, False)
