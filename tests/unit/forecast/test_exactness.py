"""A forecast says what enumerating from due time to due time, job by job, would say."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.unit.forecast.made import (
    CHANGES,
    HASHED,
    enumerated,
    expected,
    index_of,
    jittered,
    job,
    jobs,
    moments,
    schedules,
)

from matins.domain.schedules.cron.clock_changes import ClockChanges, Gap, Overlap
from matins.domain.schedules.schedule import Schedule
from matins.domain.time.instants import epoch_s
from matins.insight.forecast.expansion import LoadExpansion
from matins.insight.forecast.groups import Entry

GAPS: tuple[Gap | None, ...] = (None, "run_after", "skip")
OVERLAPS: tuple[Overlap | None, ...] = (None, "first", "second", "both")
TURNS = [(zone, at) for zone, ats in CHANGES.items() for at in ats]
DENSE = ("10-50/20 0-23 * * *", "*/20 * * * *", "0 0-5 * * *", "30 1,2,3,14 * * *")


def check(entries: list[Entry], since: int, until: int) -> None:
    fires = enumerated(entries, since, until)
    minutes = [0] * ((until - since) // 60)
    for instant, count in fires.items():
        minutes[(instant - since) // 60] += count
    index, expansion = index_of(entries, since), LoadExpansion(since, until)
    curve = expansion.curve(index.counters())
    assert curve.minutes == minutes
    assert curve.peak_second_fires == max(fires.values(), default=0)
    assert curve.peak_second_fires == fires[curve.peak_second]
    assert expansion.minutes(index.counters()) == minutes


@settings(max_examples=60, deadline=None)
@given(
    moments().flatmap(lambda moment: st.tuples(st.just(moment[1]), jobs(*moment))),
    st.sampled_from([1, 3, 12, 30]),
)
def test_each_fire_of_each_job_is_counted(made: tuple[datetime, list[Entry]], hours: int) -> None:
    moment, entries = made
    since = epoch_s(moment)
    check(entries, since, since + hours * 3600)


@pytest.mark.parametrize(("zone", "at"), TURNS)
@pytest.mark.parametrize("hours_before", [-1, 0, 1, 7])
def test_a_change_of_clocks_is_followed_whatever_a_job_does_at_it(
    zone: str, at: str, hours_before: int
) -> None:
    policies = [ClockChanges(gap, overlap) for gap, overlap in product(GAPS, OVERLAPS)]
    entries = [
        job(number, Schedule(cron=cron, timezone=zone, dst=dst))
        for number, (cron, dst) in enumerate(product(DENSE, policies))
    ]
    entries += [
        job(number, Schedule(every="1d", timezone=zone, anchor=f"2026-01-01T{number % 24:02}:30"))
        for number in range(100, 124)
    ]
    since = epoch_s(datetime.fromisoformat(at)) - hours_before * 3600
    check(entries, since, since + 12 * 3600)


@pytest.mark.parametrize("hours", [1, 5, 24, 168])
def test_steps_of_any_length_are_laid_out_together(hours: int) -> None:
    steps = ["7s", "45s", "1m", "30m", "1h", "2h", "5h", "6h", "12h", "24h", "1d", "36h", "90d"]
    entries = [
        job(number, Schedule(every=steps[number % 13], anchor=f"2026-01-01T{number % 24:02}:10:07"))
        for number in range(13 * 24)
    ]
    since = epoch_s(datetime.fromisoformat("2026-06-01T05:03Z"))
    check(entries, since, since + hours * 3600)


@pytest.mark.parametrize("cron", HASHED)
def test_h_is_that_of_each_job(cron: str) -> None:
    schedule = Schedule(cron=cron, timezone="Asia/Kathmandu")
    since = epoch_s(datetime.fromisoformat("2026-06-01T00:00Z"))
    check([job(number, schedule) for number in range(300)], since, since + 7 * 86_400)


@pytest.mark.parametrize("macro", ["@hourly", "@daily", "@midnight", "@weekly"])
def test_the_h_in_a_macro_of_jenkins_is_that_of_each_job(macro: str) -> None:
    schedule = Schedule(cron=macro, dialect="jenkins")
    since = epoch_s(datetime.fromisoformat("2026-06-01T00:00Z"))
    check([job(number, schedule) for number in range(60)], since, since + 86_400)


@settings(max_examples=60, deadline=None)
@given(
    schedules("Asia/Kathmandu", datetime.fromisoformat("2026-06-01T00:00Z")),
    st.sampled_from(["20s", "5m", "1h", "4h", "2d"]),
    st.integers(-50, 50),
)
def test_jitter_spreads_each_fire_evenly_over_all_that_it_may_take(
    schedule: Schedule, jitter: str, hours: int
) -> None:
    moment = datetime.fromisoformat("2026-06-01T00:00Z") + timedelta(hours=hours)
    since = epoch_s(moment)
    endless = replace(schedule, ends_at=None, max_runs=None)
    spread = [job(1, endless), job(2, endless)]
    index, expansion = (
        index_of(jittered(spread, jitter), since),
        LoadExpansion(since, since + 86_400),
    )
    curve = expansion.curve(index.counters())
    minutes = expected(spread, since, since + 86_400, jitter)
    assert curve.minutes == pytest.approx(minutes, abs=1e-6)
    assert expansion.minutes(index.counters()) == pytest.approx(minutes, abs=1e-6)
