"""The rules of gates, played at random: never over a limit or a rate, and nobody is passed."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.domain.jobs.limits import Limit, Quotas, Rate, parse_rate
from matins.domain.runs.admission.gates import (
    Gate,
    Place,
    after_start,
    pass_gates,
    starts_until,
)
from matins.domain.values.errors import ScheduleError
from matins.testing.virtual import START

SECOND = timedelta(seconds=1)
RATES = [parse_rate(text) for text in ("1/m", "7/s", "100/m", "3/h")]
steps = st.lists(st.floats(0, 90), min_size=1, max_size=60)


@pytest.mark.parametrize(
    ("text", "spacing_s"), [("1/s", 1.0), ("100/m", 0.6), ("20/h", 180.0), ("2/d", 43_200.0)]
)
def test_a_rate_is_read_as_the_time_between_two_starts(text: str, spacing_s: float) -> None:
    assert parse_rate(text).spacing == timedelta(seconds=spacing_s)


@pytest.mark.parametrize("text", ["", "0/m", "5", "5/w", "-1/s", "1.5/s", "5/min", "2000000/s"])
def test_what_is_no_rate_is_told_what_would_be_right(text: str) -> None:
    with pytest.raises(ScheduleError, match="write 5/s, 100/m, 20/h or 1/d"):
        parse_rate(text)


def test_a_limit_says_what_is_wrong_with_it() -> None:
    wrong = Limit("Vendor X", limit=-1, rate="often")
    assert [it.where for it in wrong.problems()] == ["key", "limit", "rate"]
    assert [it.where for it in Limit("x").problems()] == ["limit"]
    quotas = Quotas(max_jobs=-1, max_running=-1, starts_per_minute=0)
    assert [it.where for it in quotas.problems()] == [
        "max_jobs",
        "max_running",
        "starts_per_minute",
    ]


@given(st.sampled_from(RATES), steps)
def test_starts_keep_their_distance_but_for_the_tolerance(rate: Rate, pauses: list[float]) -> None:
    now, starts = START, []
    next_start_at: datetime | None = None
    for pause in pauses:
        now += timedelta(seconds=pause)
        for _ in range(starts_until(rate, next_start_at, now)):
            next_start_at = after_start(rate, next_start_at, now)
            starts.append(now)
        assert starts_until(rate, next_start_at, now) == 0
    for first, start in enumerate(starts):
        for last in range(first, len(starts)):
            assert starts[last] - start >= (last - first) * rate.spacing - rate.tolerance


@given(st.sampled_from(RATES), st.integers(1, 30))
def test_whoever_asks_when_told_gets_the_whole_rate(rate: Rate, count: int) -> None:
    now, told_at = START, START
    for _ in range(count):
        assert starts_until(rate, told_at, now) >= 1
        told_at = after_start(rate, told_at, now)
        now = told_at + min(rate.tolerance, rate.spacing) / 2  # told, and a little late
    assert told_at - START <= count * rate.spacing


places = st.builds(
    Place,
    st.integers(0, 9),
    st.integers(1, 99).map(lambda number: UUID(int=number)),
)


@given(st.data())
def test_so_many_pass_as_there_is_room_in_the_order_of_their_places(data: st.DataObject) -> None:
    limits = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    gates = [Gate(number, "key", f"k{number}", limit) for number, limit in enumerate(limits)]
    drawn = data.draw(st.lists(places, max_size=12, unique_by=lambda place: place.run_id))
    asked = {
        place: [gate for gate in gates if data.draw(st.booleans())]
        for place in drawn
        if data.draw(st.booleans())
    }
    lined = [place for place in drawn if place not in asked]
    line_of = {gate.id: {it for it in lined if data.draw(st.booleans())} for gate in gates}

    passed = pass_gates(asked, lambda gate: line_of[gate.id], START)

    assert [it.place for it in passed] == sorted(asked)
    for gate in gates:
        holders = {it.place.run_id for it in passed if not it.blocked_by} & gate.permits
        assert gate.permits == holders
        assert len(gate.permits) <= (gate.limit or 0)
    for one in passed:
        if one.blocked_by is None:
            assert all(one.place.run_id in gate.permits for gate in asked[one.place])
            continue
        gate = one.blocked_by
        before = [it for it in passed if it.place < one.place and it.blocked_by is None]
        taken = sum(gate in asked[it.place] for it in before)
        ahead = sum(place < one.place for place in line_of[gate.id])
        assert taken + ahead >= (gate.limit or 0)  # else there was room for it
        assert one.reason
