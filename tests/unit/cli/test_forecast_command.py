"""The chart of `matins forecast`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from matins.cli.forecasts import BAR, bars, number
from matins.insight.forecast.forecast import Forecast, Peak

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
NONE = Peak(NOON, 0)


def told(counts: list[float], step_s: int) -> Forecast:
    until = NOON + timedelta(seconds=len(counts) * step_s)
    return Forecast(NOON, until, None, None, 1, sum(counts), NONE, NONE, [], [], step_s, counts)


def test_a_bar_stands_for_an_hour_of_minutes() -> None:
    shown = bars(told([0.0, 5.0] * 30 + [0.0] * 60 + [1.0] + [0.0] * 59, 60))
    assert [fires for _, fires, _, _ in shown] == ["150", "0", "1"]
    assert [len(bar) for _, _, _, bar in shown] == [BAR, 0, 1]
    peak = f"5 at {(NOON + timedelta(minutes=1)).astimezone():%H:%M}"
    assert [minute for _, _, minute, _ in shown][:2] == [peak, ""]
    assert [at for at, *_ in shown] == [
        (NOON + timedelta(hours=hour)).astimezone().strftime("%a %m-%d %H:%M") for hour in range(3)
    ]


def test_a_bar_of_a_week_stands_for_six_hours() -> None:
    shown = bars(told([1] * 168, 3600))
    assert len(shown) == 28
    assert {(fires, minute) for _, fires, minute, _ in shown} == {("6", "")}


def test_what_is_left_over_has_a_bar_of_its_own() -> None:
    shown = bars(told([1] * 50, 3600))
    assert [fires for _, fires, _, _ in shown] == ["6"] * 8 + ["2"]


def test_few_fires_are_told_in_parts() -> None:
    assert [number(value) for value in (0, 2, 2.25, 9.96, 12.4, 12345.6)] == [
        *("0", "2", "2.2", "10.0", "12", "12,346")
    ]
