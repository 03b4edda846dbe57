"""The load ahead: /v1/forecast."""

from __future__ import annotations

from typing import Annotated

from litestar import Router, get
from litestar.params import FromQuery, QueryParameter

from matins.api.dependencies import Forecasts
from matins.insight.forecast.forecast import HOURS_MAX, Forecast

Hours = Annotated[
    int, QueryParameter(ge=1, le=HOURS_MAX, description="How many hours from this minute on.")
]


@get("/forecast")
async def forecast_load(
    forecasts: Forecasts,
    team: FromQuery[str | None] = None,
    pool: FromQuery[str | None] = None,
    hours: Hours = 24,
) -> Forecast:
    """Return how many fires the coming hours hold, of all active jobs, or of a team's or pool's.

    `counts` go minute by minute up to 24 hours, and hour by hour beyond. What jitter spreads counts
    in parts.
    """
    return await forecasts.forecast(hours, team, pool)


ROUTER = Router("/", tags=["forecast"], route_handlers=[forecast_load])
