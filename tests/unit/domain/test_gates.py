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
    Permit,
    RankedRun,
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
    assert [problem.where for problem in wrong.problems()] == ["key", "limit", "rate"]
    assert [problem.where for problem in Limit("x").problems()] == ["limit"]
    quotas = Quotas(max_jobs=-1, max_running=-1, starts_per_minute=0)
    assert [problem.where for problem in quotas.problems()] == [
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
    RankedRun,
    st.integers(0, 9),
    st.integers(1, 99).map(lambda number: UUID(int=number)),
)


@given(st.data())
def test_so_many_pass_as_there_is_room_in_the_order_of_their_places(data: st.DataObject) -> None:
    limits = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    gates = {
        number: Gate(number, "key", f"k{number}", limit) for number, limit in enumerate(limits)
    }
    drawn = data.draw(st.lists(places, max_size=12, unique_by=lambda place: place.run_id))
    asked = {
        place: [number for number in gates if data.draw(st.booleans())]
        for place in drawn
        if data.draw(st.booleans())
    }
    others = sorted(place for place in drawn if place not in asked)
    lines = {number: [place for place in others if data.draw(st.booleans())] for number in gates}

    passed = pass_gates(asked, gates, lines, START)

    assert [outcome.place for outcome in passed] == sorted(asked)
    for number, gate in gates.items():
        granted = [out for out in passed if any(permit.gate_id == number for permit in out.permits)]
        assert len(granted) <= (gate.limit or 0)
        assert all(number in asked[outcome.place] for outcome in granted)
    for outcome in passed:
        if outcome.blocked_by is None:
            assert [permit.gate_id for permit in outcome.permits] == asked[outcome.place]
            continue
        gate = outcome.blocked_by
        before = [
            earlier
            for earlier in passed
            if earlier.place < outcome.place and earlier.blocked_by is None
        ]
        taken = sum(gate.id in asked[earlier.place] for earlier in before)
        ahead = sum(place < outcome.place for place in lines[gate.id])
        assert taken + ahead >= (gate.limit or 0)  # else there was room for it
        assert outcome.reason
        assert not outcome.permits


@given(st.sampled_from(RATES), st.integers(0, 3), st.integers(1, 9))
def test_a_permit_tells_when_the_next_start_is_due(rate: Rate, taken: int, count: int) -> None:
    gate = Gate(1, "key", "k", limit=3, rate=rate, taken=taken, revision=7)
    asked = {RankedRun(number, UUID(int=number)): [1] for number in range(count)}
    first, *others = pass_gates(asked, {1: gate}, {}, START)
    if taken < 3:
        assert first.permits == (Permit(1, 7, START + rate.spacing),)
    assert not any(outcome.permits for outcome in others)


@given(st.sampled_from(RATES), st.sampled_from(RATES))
def test_after_a_change_a_run_waits_no_longer_than_by_the_rate_of_today(
    before: Rate, after: Rate
) -> None:
    noted = after_start(before, None, START)
    opens_at = Gate(1, "key", "k", rate=after, next_start_at=noted).opens_at(START)
    assert opens_at == min(noted, START + after.spacing)
