"""The maintenance windows and calendars of a team."""

from __future__ import annotations

from typing import Final

import msgspec
from litestar import Response, Router, get, post
from litestar.params import FromPath, FromQuery

from matins.api.dependencies import Calendars, Owners, Sources
from matins.domain.calendars.calendar import Calendar
from matins.domain.jobs.windows import Window
from matins.domain.values.errors import InvalidInputError
from matins.domain.values.reading import read_value
from matins.kernel.documents import read_document, yaml_text
from matins.web.editing import Editor
from matins.web.forms import Form
from matins.web.live import LivePart
from matins.web.moments import UTC_ZONE, read_ahead
from matins.web.rendering import WebRequest, done, now_of, page
from matins.web.wording import plural, team_path

ITEM = None
LIVE: list[LivePart] = []

CALENDARS_MAX: Final = 200
"""So many calendars are shown."""

NEW_CALENDAR: Final = """\
name: holidays
timezone: Europe/Berlin
exclude:
  - holidays: {country: DE}
  - {dates: 2026-12-24, label: closing}
"""


EDITOR: Final = Editor(
    "calendar",
    "calendars/edit",
    "windows",
    "When jobs are not to run: at what is excluded, and outside of all under only.",
)


@get("/teams/{team:str}/windows")
async def show_windows(
    request: WebRequest, sources: Sources, team: FromPath[str]
) -> Response[bytes]:
    """Show a team's windows and calendars."""
    await sources.teams.share(team)
    return page(
        request,
        "team_windows.html",
        team=team,
        tab="windows",
        windows=await sources.windows.of_team(team),
        calendars=(await sources.calendars.page(team, "", CALENDARS_MAX)).calendars,
    )


@post("/teams/{team:str}/windows")
async def put_window(request: WebRequest, owners: Owners, team: FromPath[str]) -> Response[bytes]:
    """Make a window or change it."""
    form, now = Form(await request.form()), now_of(request)
    starts_at = read_ahead("starts_at", form.text("starts_at") or "now", UTC_ZONE, now)
    ends_at = read_ahead("ends_at", form.text("ends_at"), UTC_ZONE, now)
    if starts_at is None or ends_at is None:
        raise InvalidInputError.at("ends_at", "is missing; write 2h or 2026-12-01 22:00")
    window = Window(
        form.text("name"),
        starts_at,
        ends_at,
        form.choice("policy", ("hold", "skip")),
        form.labels("labels"),
        form.text("reason"),
    )
    changed = await owners.windows.put(team, window)
    text = f"The window {window.name} is {changed.change}; it is for {plural(changed.jobs, 'job')}."
    return done(request, text, team_path(team, "windows"))


@post("/teams/{team:str}/windows/delete")
async def end_window(request: WebRequest, owners: Owners, team: FromPath[str]) -> Response[bytes]:
    """End a window at once; what it held runs now."""
    changed = await owners.windows.delete(team, Form(await request.form()).text("name"))
    text = f"The window {changed.window.name} is over; it held {plural(changed.held, 'run')}."
    return done(request, text, team_path(team, "windows"))


@get("/teams/{team:str}/calendars/edit")
async def edit_calendar(
    request: WebRequest, calendars: Calendars, team: FromPath[str], name: FromQuery[str] = ""
) -> Response[bytes]:
    """Show a calendar as YAML, or an example of one."""
    text = NEW_CALENDAR
    if name:
        text = yaml_text(msgspec.to_builtins((await calendars.show(team, name)).calendar))
    return EDITOR.show(request, team, name, text)


@post("/teams/{team:str}/calendars/edit")
async def put_calendar(request: WebRequest, owners: Owners, team: FromPath[str]) -> Response[bytes]:
    """Make a calendar or replace it; what is wrong is told beside what was typed."""
    form = Form(await request.form())
    text = form.text("text")
    try:
        calendar = read_value(read_document(text).value, Calendar)
        changed = await owners.calendars.put(team, calendar)
    except InvalidInputError as error:
        return EDITOR.show(request, team, form.text("name"), text, error)
    jobs = plural(changed.jobs, "job")
    told = f"The calendar {calendar.name} is {changed.change}; {jobs} follow it."
    return done(request, told, team_path(team, "windows"))


@post("/teams/{team:str}/calendars/delete")
async def delete_calendar(
    request: WebRequest, owners: Owners, team: FromPath[str]
) -> Response[bytes]:
    """Delete a calendar that no job follows."""
    name = Form(await request.form()).text("name")
    await owners.calendars.delete(team, name)
    return done(request, f"The calendar {name} is deleted.", team_path(team, "windows"))


ROUTER = Router(
    "/",
    route_handlers=[
        *(show_windows, put_window, end_window),
        *(edit_calendar, put_calendar, delete_calendar),
    ],
)
