"""The playground: type any schedule, and see what it means before anything depends on it."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

from litestar import Response, Router, get
from litestar.params import FromQuery

from matins.api.dependencies import Previews
from matins.domain.time.instants import epoch_s, local_time
from matins.domain.time.zones import find_zone, zone_names
from matins.domain.values.errors import InvalidInputError, MatinsError, Problem
from matins.domain.views import DueTime, Preview, PreviewRequest
from matins.kernel.documents import yaml_text
from matins.store.previews import PostgresPreviews
from matins.web.live import LivePart
from matins.web.rendering import NavigationItem, WebRequest, page
from matins.web.typed_schedules import read_schedule

ITEM = NavigationItem("Playground", "/playground", "p")
LIVE: list[LivePart] = []
COUNT: Final = 20

EXAMPLES: Final = (
    "30 2 * * MON-FRI",
    "H H(0-5) * * *",
    "0 22 L * *",
    "0 9 * * MON#1",
    "every 15m",
    "FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=18",
    "2026-12-24 18:00, 2026-12-31 23:59",
    "{any_of: [{cron: '0 9 * * MON'}, {cron: '0 14 1 * *'}]}",
)


class ShownSchedule(NamedTuple):
    """A schedule that was typed, and when it is due: in its own zone, and in another one."""

    preview: Preview
    due: list[tuple[DueTime, datetime]]
    yaml: str


@get("/playground")
async def show_playground(
    request: WebRequest,
    previews: Previews,
    schedule: FromQuery[str] = "30 2 * * MON-FRI",
    zone: FromQuery[str] = "Europe/Berlin",
    other: FromQuery[str] = "UTC",
) -> Response[bytes]:
    """Show what a schedule means, and when it is due in two zones."""
    shown, problems = None, list[Problem]()
    try:
        shown = await _look(previews, schedule, zone.strip() or "UTC", other.strip() or "UTC")
    except InvalidInputError as error:
        problems = error.problems
    except MatinsError as error:
        problems = [Problem("", str(error))]
    return page(
        request,
        "playground.html",
        schedule=schedule,
        zone=zone,
        other=other,
        shown=shown,
        problems=problems,
        examples=EXAMPLES,
        zones=sorted(zone_names()),
    )


async def _look(previews: PostgresPreviews, text: str, zone: str, other: str) -> ShownSchedule:
    if not text.strip():
        raise InvalidInputError.at("schedule", "is empty; type one, or take an example")
    elsewhere = find_zone(other)
    schedule = read_schedule(text, zone)
    preview = await previews.of_schedule(PreviewRequest(schedule, COUNT))
    due = [
        (due, local_time(epoch_s(due.utc), elsewhere.offset_at(epoch_s(due.utc))))
        for due in preview.due
    ]
    return ShownSchedule(preview, due, yaml_text(schedule))


ROUTER = Router("/", route_handlers=[show_playground])
