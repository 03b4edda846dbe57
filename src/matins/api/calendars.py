"""Calendars: /v1/teams/{team}/calendars and below."""

from __future__ import annotations

from litestar import Router, delete, get, put
from litestar.params import FromPath, FromQuery, JSONBody

from matins.api.bodies import Strict
from matins.api.dependencies import Calendars, Owners
from matins.api.jobs import Limit
from matins.api.parameters import check_same_name
from matins.domain.calendars.calendar import Calendar
from matins.domain.views import CalendarChanged, CalendarPage, CalendarRecord


@get("/teams/{team:str}/calendars")
async def list_calendars(
    calendars: Calendars, team: FromPath[str], after: FromQuery[str] = "", limit: Limit = 100
) -> CalendarPage:
    """List a team's calendars, by name; `after` is the `next` of the page before."""
    return await calendars.page(team, after, limit)


@get("/teams/{team:str}/calendars/{name:str}")
async def show_calendar(
    calendars: Calendars, team: FromPath[str], name: FromPath[str]
) -> CalendarRecord:
    """Show a calendar, and the days that it closes next."""
    return await calendars.show(team, name)


@put("/teams/{team:str}/calendars/{name:str}", dto=Strict[Calendar], return_dto=None)
async def put_calendar(
    owners: Owners,
    team: FromPath[str],
    name: FromPath[str],
    data: JSONBody[Calendar],
    dry_run: FromQuery[bool] = False,
) -> CalendarChanged:
    """Create a calendar or replace it. The jobs that follow it keep to the new one from now on.

    As with any change of a job, no run is fired by it. Repeat it if the answer was lost.
    """
    check_same_name(data.name, name)
    return await owners.calendars.put(team, data, dry_run=dry_run)


@delete("/teams/{team:str}/calendars/{name:str}", status_code=200)
async def delete_calendar(
    owners: Owners, team: FromPath[str], name: FromPath[str]
) -> CalendarChanged:
    """Delete a calendar. 409 while a job follows it."""
    return await owners.calendars.delete(team, name)


ROUTER = Router(
    "/",
    tags=["calendars"],
    route_handlers=[list_calendars, show_calendar, put_calendar, delete_calendar],
)
