"""What is done on the page of a job: run, pause, resume, delete, skip and move."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from litestar import Response, Router, get, post
from litestar.params import FromPath

from matins.api.dependencies import Owners, Principal, Reads
from matins.domain.jobs.authors import Author
from matins.domain.jobs.misfire import COUNT_MAX, RUN_MAX, Missed
from matins.domain.jobs.pausing import Pause
from matins.domain.schedules.schedule import Override
from matins.domain.values.errors import InvalidInputError
from matins.domain.views import Changed
from matins.web.forms import Form
from matins.web.inputs import read_input
from matins.web.live import LivePart
from matins.web.moments import read_ahead, told_in_zone, zone_of
from matins.web.rendering import WebRequest, came_from, done, fragment, now_of
from matins.web.wording import plural, run_path

ITEM = None
LIVE: list[LivePart] = []

CHOICES: Final = tuple(RUN_MAX)


@post("/teams/{team:str}/jobs/{name:str}/trigger")
async def trigger(
    request: WebRequest, owners: Owners, team: FromPath[str], name: FromPath[str]
) -> Response[bytes]:
    """Run the job now, and lead to its run."""
    sent = await request.form()
    form = Form(sent)
    status = await owners.runs.trigger(
        team,
        name,
        read_input(sent),
        key=form.optional("key"),
        allow_overlap=bool(form.text("allow_overlap")),
    )
    return done(request, f"Triggered {team}/{name}.", run_path(status.id))


@post("/teams/{team:str}/jobs/{name:str}/pause")
async def pause(
    request: WebRequest,
    owners: Owners,
    principal: Principal,
    reads: Reads,
    team: FromPath[str],
    name: FromPath[str],
) -> Response[bytes]:
    """Pause the job, for a reason, until it is resumed or some moment, by the job's zone."""
    form = Form(await request.form())
    zone = zone_of(await reads.job(team, name))
    until = read_ahead("until", form.text("until"), zone, now_of(request))
    missed = missed_of(form.text("missed")) if until else "skip"
    wanted = Pause(form.text("reason"), until, missed)
    answer = await owners.jobs.pause(team, name, wanted, Author(principal))
    text = _told("Paused", answer)
    if until:
        text += f" It goes on at {told_in_zone(until, zone)}."
    return done(request, text, came_from(request))


@get("/teams/{team:str}/jobs/{name:str}/missed")
async def show_missed(
    request: WebRequest, owners: Owners, team: FromPath[str], name: FromPath[str]
) -> Response[bytes]:
    """Tell how many due times passed in the pause, for the question of what becomes of them."""
    answer = await owners.jobs.resume(team, name, "skip", dry_run=True)
    return fragment(request, "missed.html", count=answer.skipped, most=COUNT_MAX)


@post("/teams/{team:str}/jobs/{name:str}/resume")
async def resume(
    request: WebRequest,
    owners: Owners,
    principal: Principal,
    team: FromPath[str],
    name: FromPath[str],
) -> Response[bytes]:
    """Let the job go on; of what was due meanwhile none, the last or all of it is run."""
    form = Form(await request.form())
    author = Author(principal, form.text("reason"))
    answer = await owners.jobs.resume(team, name, missed_of(form.text("missed")), author)
    return done(request, _told("Resumed", answer), came_from(request))


@post("/teams/{team:str}/jobs/{name:str}/delete")
async def delete(
    request: WebRequest,
    owners: Owners,
    principal: Principal,
    team: FromPath[str],
    name: FromPath[str],
) -> Response[bytes]:
    """Delete the job; while others follow it, only if that is wanted as well."""
    form = Form(await request.form())
    author = Author(principal, form.text("reason"))
    answer = await owners.jobs.delete(team, name, author, force=bool(form.text("force")))
    text = _told("Deleted", answer)
    if answer.cancelled:
        text += f" {plural(answer.cancelled, 'run')} that waited will not run."
    return done(request, text, "/jobs")


@post("/teams/{team:str}/jobs/{name:str}/overrides")
async def override(
    request: WebRequest,
    owners: Owners,
    principal: Principal,
    reads: Reads,
    team: FromPath[str],
    name: FromPath[str],
) -> Response[bytes]:
    """Skip one occurrence, move it, or let it run as scheduled. Times are by the job's zone."""
    form = Form(await request.form())
    due_at, zone = _due(form), zone_of(await reads.job(team, name))
    reason, deed = form.text("reason"), form.choice("deed", ("skip", "move", "restore"))
    if deed == "restore":
        await owners.jobs.restore(team, name, due_at, Author(principal, reason))
        return done(request, f"{told_in_zone(due_at, zone)} runs as scheduled.", came_from(request))
    move_to = read_ahead("move_to", form.text("move_to"), zone, now_of(request))
    if deed == "move" and move_to is None:
        raise InvalidInputError.at("move_to", "is missing; say when it is to run instead")
    move_to = move_to.replace(microsecond=0) if move_to and deed == "move" else None
    await owners.jobs.override(team, name, Override(due_at, move_to, reason), Author(principal))
    text = f"is moved to {told_in_zone(move_to, zone)}" if move_to else "will be skipped"
    return done(request, f"{told_in_zone(due_at, zone)} {text}.", came_from(request))


def missed_of(text: str) -> Missed:
    """Read what is to become of missed due times. Raises InvalidInputError."""
    if text not in RUN_MAX:
        raise InvalidInputError.at("missed", f"is {text!r}; it may be {', '.join(CHOICES)}")
    return text


def _due(form: Form) -> datetime:
    due_at = form.instant("due_at")
    if due_at is None:
        raise InvalidInputError.at("due_at", "is missing; say which occurrence is meant")
    return due_at


def _told(verb: str, answer: Changed) -> str:
    """Tell what became of a job, and of its due times that had passed."""
    name = f"{answer.job.team}/{answer.job.spec.name}"
    if answer.change == "unchanged":
        return f"{name} was so already."
    text = f"{verb} {name}."
    if answer.queued or answer.skipped:
        parts = [
            *([f"{plural(answer.queued, 'run')} queued"] if answer.queued else []),
            *([f"{answer.skipped} skipped"] if answer.skipped else []),
        ]
        text += f" Of the due times that had passed: {', '.join(parts)}."
    return text


ROUTER = Router("/", route_handlers=[trigger, pause, show_missed, resume, delete, override])
