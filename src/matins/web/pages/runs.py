"""The page of all runs, newest due time first."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final
from urllib.parse import parse_qsl
from uuid import UUID

from litestar import Response, Router, get
from litestar.params import FromQuery, QueryParameter

from matins.api.dependencies import Dependencies, Reads
from matins.domain.runs.states import RunState
from matins.domain.time.instants import instant_problems
from matins.domain.values.durations import parse_duration
from matins.domain.values.errors import InvalidInputError, ScheduleError, check
from matins.domain.views import RunPage
from matins.store.reads import PostgresReads
from matins.web.live import LivePart
from matins.web.rendering import NavigationItem, WebRequest, now_of, page, render
from matins.web.wording import with_query

PAGE: Final = 50

SINCE: Final = {"1h": "Last hour", "1d": "Last day", "7d": "Last 7 days", "30d": "Last 30 days"}
"""How far back the page offers to look, and what that is called."""

ITEM = NavigationItem("Runs", "/runs", "r")


@get("/runs")
async def show_runs(  # what an address may say
    request: WebRequest,
    reads: Reads,
    team: FromQuery[str] = "",
    job: FromQuery[str] = "",
    in_state: Annotated[str, QueryParameter(name="state")] = "",
    since: FromQuery[str] = "",
    before: FromQuery[UUID | None] = None,
) -> Response[bytes]:
    """Show runs; each part of the filter stands in the address."""
    wanted = {"team": team.strip(), "job": job.strip(), "state": in_state, "since": since.strip()}
    found = await _found(reads, wanted, now_of(request), before)
    return page(
        request,
        "runs.html",
        found=found,
        states=list(RunState),
        since=SINCE,
        live="" if before else with_query("", wanted).removeprefix("?"),
        is_live=before is None,
    )


async def _draw(dependencies: Dependencies, argument: str) -> str:
    wanted = dict.fromkeys(("team", "job", "state", "since"), "") | dict(parse_qsl(argument))
    now = await dependencies.reads.now()
    found = await _found(dependencies.reads, wanted, now, None)
    return render("parts/runs.html", now, found=found)


async def _found(
    reads: PostgresReads, wanted: Mapping[str, str], now: datetime, before: UUID | None
) -> RunPage:
    """Return a page of runs. Of one job's the page holds fewer when others are left out of it."""
    states = _states(wanted["state"])
    since = _since(wanted["since"], now)
    if not wanted["job"]:
        return await reads.runs(wanted["team"] or None, states, since, before, PAGE)
    found = await reads.runs_of_job(wanted["team"], wanted["job"], before, PAGE)
    runs = [run for run in found.runs if run.state in states]
    if since is None:
        return RunPage(runs, found.next)
    is_over = bool(found.runs) and found.runs[-1].due_at < since
    return RunPage([run for run in runs if run.due_at >= since], None if is_over else found.next)


def _states(text: str) -> list[RunState]:
    try:
        return [RunState(text)] if text else list(RunState)
    except ValueError:
        known = ", ".join(RunState)
        raise InvalidInputError.at("state", f"is {text!r}; it may be {known}") from None


def _since(text: str, now: datetime) -> datetime | None:
    """Read how far back to look: a length of time, or an instant."""
    if not text:
        return None
    try:
        return now - timedelta(seconds=parse_duration(text))
    except ScheduleError:
        pass
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        message = f"is {text[:40]!r}; write 6h, 7d, or an instant such as 2026-11-30T02:00Z"
        raise InvalidInputError.at("since", message) from None
    instant = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    check(instant_problems("since", instant))
    return instant


LIVE = [LivePart("runs", _draw, every_s=3.0)]
ROUTER = Router("/", route_handlers=[show_runs])
