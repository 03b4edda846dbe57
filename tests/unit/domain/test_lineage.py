"""What a server that is met is to whoever knew one before."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from matins.domain.values.lineage import Meeting, ServerId, meet, went_back

STARTED = datetime(2026, 11, 30, 8, tzinfo=UTC)
KNOWN = ServerId(system=7, timeline=3, started_at=STARTED)


def test_the_first_server_is_taken_as_it_is() -> None:
    assert meet(None, KNOWN) is Meeting.SAME


def test_the_same_server_goes_on() -> None:
    assert meet(KNOWN, replace(KNOWN)) is Meeting.SAME


@pytest.mark.parametrize(
    "met",
    [
        replace(KNOWN, timeline=4, started_at=STARTED - timedelta(days=9)),
        replace(KNOWN, started_at=STARTED + timedelta(seconds=1)),
        replace(KNOWN, system=8, timeline=1),
        ServerId(None, None, STARTED + timedelta(seconds=1)),
    ],
    ids=["a promoted standby", "a restart", "another cluster", "one that tells no timeline"],
)
def test_what_another_server_acknowledged_may_be_missing(met: ServerId) -> None:
    assert meet(KNOWN, met) is Meeting.OTHER


def test_a_primary_that_was_replaced_is_older() -> None:
    promoted = replace(KNOWN, timeline=4, started_at=STARTED - timedelta(days=9))
    assert meet(promoted, KNOWN) is Meeting.OLDER
    assert meet(promoted, replace(KNOWN, started_at=STARTED + timedelta(days=1))) is Meeting.OLDER


def test_a_row_that_says_less_than_it_did_was_put_back() -> None:
    later = STARTED + timedelta(seconds=1)
    assert went_back(later, STARTED)
    assert went_back(later, None)
    assert not went_back(later, later)
    assert not went_back(STARTED, later)  # the answer to a renewal was lost
    assert not went_back(None, STARTED)
