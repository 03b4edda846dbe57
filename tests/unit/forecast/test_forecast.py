"""The forecast: peaks, shares, counts; and the warning of a hot spot."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.unit.forecast.made import index_of, job

from matins.domain.schedules.schedule import Schedule
from matins.domain.time.instants import epoch_s
from matins.domain.time.zones import find_zone
from matins.insight.forecast.expansion import LoadExpansion
from matins.insight.forecast.forecast import Peak, forecast, hot_spot
from matins.insight.forecast.groups import Entry

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
SINCE = epoch_s(NOW)
DAY, WEEK = LoadExpansion(SINCE, SINCE + 86_400), LoadExpansion(SINCE, SINCE + 7 * 86_400)
MIDNIGHT, QUIET = "0 0 * * *", "7 0 * * *"


def many(
    count: int, cron: str, *, first: int = 0, team: str = "a", jitter: str = "0s"
) -> list[Entry]:
    schedule = Schedule(cron=cron, jitter=jitter)
    return [job(first + number, schedule, team=team) for number in range(count)]


def test_a_day_is_told_minute_by_minute_and_a_week_hour_by_hour() -> None:
    index = index_of(many(3, "30 * * * *"), SINCE)
    day, week = (forecast(index, expansion, None, None) for expansion in (DAY, WEEK))
    assert (day.step_s, len(day.counts), day.counts[29:32]) == (60, 1440, [0, 3, 0])
    assert (week.step_s, week.counts) == (3600, [3] * 168)
    assert (day.fires, week.fires, day.jobs) == (72, 504, 3)
    assert (week.since, week.until) == (NOW, NOW + timedelta(days=7))


def test_the_peaks_are_the_first_of_the_busiest_minutes_and_seconds() -> None:
    index = index_of([*many(5, "* 15 * * *"), *many(3, "*/20 20 15 * * *", first=10)], SINCE)
    told = forecast(index, DAY, None, None)
    at = NOW.replace(hour=15, minute=20)
    assert told.peak_minute == Peak(at, 14)
    assert told.peak_second == Peak(at, 8)
    again = forecast(index_of(many(2, "*/30 0 * * * *"), SINCE), DAY, None, None)
    assert (again.peak_minute, again.peak_second) == (Peak(NOW, 4), Peak(NOW, 2))


def test_shares_are_those_of_the_busiest_teams_and_pools() -> None:
    jobs = [job(number, Schedule(every="1h"), team=f"t{number % 15}") for number in range(150)]
    jobs += [job(200 + number, Schedule(every="1h"), team=f"t{number}") for number in range(12)]
    told = forecast(index_of(jobs, SINCE), DAY, None, None)
    assert [share.name for share in told.teams] == [f"t{n}" for n in (0, 1, 10, 11, *range(2, 8))]
    assert {(share.jobs, share.fires) for share in told.teams} == {(11, 264)}
    assert [(share.name, share.jobs, share.fires) for share in told.pools] == [("x", 162, 3888)]


def test_a_share_has_a_peak_of_its_own() -> None:
    index = index_of([*many(50, MIDNIGHT), *many(2, "15 8 * * *", first=60, team="b")], SINCE)
    told = forecast(index, DAY, None, None)
    peaks = {share.name: share.peak_minute for share in told.teams}
    assert peaks["b"] == Peak(datetime(2026, 6, 2, 8, 15, tzinfo=UTC), 2)


def test_a_forecast_for_a_team_knows_of_no_other() -> None:
    index = index_of([*many(50, MIDNIGHT), *many(2, "15 8 * * *", first=60, team="b")], SINCE)
    told = forecast(index, DAY, "b", None)
    assert (told.team, told.jobs, told.fires) == ("b", 2, 2)
    assert [share.name for share in told.teams] == ["b"]


def test_a_team_without_jobs_has_a_forecast_of_nothing() -> None:
    told = forecast(index_of([], SINCE), DAY, "nobody", None)
    assert (told.jobs, told.fires, told.teams, told.pools) == (0, 0, [], [])
    assert told.peak_minute == told.peak_second == Peak(NOW, 0)


def test_a_hot_spot_is_told_with_a_quiet_minute_nearby_on_the_jobs_own_clocks() -> None:
    jobs = [*many(412, MIDNIGHT), *many(3, QUIET, first=500)]
    jobs += many(5, "1-6,8-59 0 * * *", first=600) + many(5, "* 23 * * *", first=700)
    index = index_of(jobs, SINCE)
    minutes = DAY.minutes(index.counters())
    due = SINCE + 12 * 3600
    told = "fires with 412 other jobs at this minute; 02:07 has 3"
    assert hot_spot(SINCE, minutes, due, find_zone("Europe/Berlin")) == told
    assert hot_spot(SINCE, minutes, due, find_zone("UTC"), own=1).startswith(
        "fires with 411 other jobs"
    )


def test_few_jobs_or_a_minute_like_all_others_are_no_hot_spot() -> None:
    due, zone = SINCE + 12 * 3600, find_zone("UTC")
    few = index_of(many(50, MIDNIGHT), SINCE)
    assert hot_spot(SINCE, DAY.minutes(few.counters()), due, zone) == ""
    even = index_of([*many(80, "* * * * *"), *many(300, MIDNIGHT, first=100)], SINCE)
    assert hot_spot(SINCE, DAY.minutes(even.counters()), due, zone) == ""


def test_what_lies_outside_of_the_curve_is_no_hot_spot() -> None:
    index = index_of(many(500, MIDNIGHT), SINCE)
    minutes = DAY.minutes(index.counters())
    for due in (SINCE - 1, SINCE + 86_400):
        assert hot_spot(SINCE, minutes, due, find_zone("UTC")) == ""


def test_fires_that_jitter_spreads_are_no_hot_spot() -> None:
    index = index_of(many(500, MIDNIGHT, jitter="59m"), SINCE)
    minutes = DAY.minutes(index.counters())
    assert hot_spot(SINCE, minutes, SINCE + 12 * 3600, find_zone("UTC")) == ""
    assert sum(minutes) == pytest.approx(500)
