"""What owners do to dead letters: replay and dismiss many at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from litestar import Response, Router, post
from litestar.datastructures import FormMultiDict

from matins.api.dependencies import Owners, Principal
from matins.domain.jobs.authors import Author
from matins.domain.runs.dead import RUNS_MAX, DismissDead
from matins.domain.runs.replays import RATE, ReplayDead
from matins.domain.values.errors import InvalidInputError
from matins.web.forms import Form
from matins.web.live import LivePart
from matins.web.pages.dead import wanted_letters
from matins.web.rendering import WebRequest, came_from, done
from matins.web.wording import plural

ITEM = None
LIVE: list[LivePart] = []


class Choice(NamedTuple):
    """Letters of a team to which something is to be done, as `DeadChoice` says it."""

    team: str
    letters: Mapping[str, Any]


@post("/dead/replay")
async def replay_letters(
    request: WebRequest, owners: Owners, principal: Principal
) -> Response[bytes]:
    """Replay letters at a rate."""
    form = await request.form()
    rate, planned = Form(form).text("rate") or RATE, 0
    for team, letters in choices(form):
        wanted = ReplayDead(**letters, rate=rate)
        replay = await owners.dead.replay(team, wanted, Author(principal))
        planned += replay.planned
    return done(request, f"Replaying {plural(planned, 'dead letter')}.", came_from(request))


@post("/dead/dismiss")
async def dismiss_letters(
    request: WebRequest, owners: Owners, principal: Principal
) -> Response[bytes]:
    """Dismiss letters with a note."""
    form = await request.form()
    note, dismissed = Form(form).text("note"), 0
    for team, letters in choices(form):
        wanted = DismissDead(**letters, note=note)
        dismissed += (await owners.dead.dismiss(team, wanted, Author(principal))).dismissed
    return done(request, f"Dismissed {plural(dismissed, 'dead letter')}.", came_from(request))


@post("/dead/replays/cancel")
async def cancel_replay(request: WebRequest, owners: Owners) -> Response[bytes]:
    """End a replay."""
    text = str((await request.form()).get("replay", ""))
    cancelled = await owners.dead.cancel_replay(_ids("replay", [text])[0])
    left = plural(cancelled.planned - cancelled.replayed - cancelled.left_out, "letter")
    return done(request, f"Cancelled; {left} of it stay as they are.", came_from(request))


def choices(form: FormMultiDict) -> list[Choice]:
    """Return what a form chooses: groups, letters, or all that a filter finds.

    Raises InvalidInputError.
    """
    fields = Form(form)
    groups = [str(key).split("/") for key in form.getall("group", [])]
    if any(len(parts) != 3 for parts in groups):
        raise InvalidInputError.at("group", "is none; it is named as team/job/fingerprint")
    if groups:
        return [Choice(team, {"job": job, "fingerprint": mark}) for team, job, mark in groups]
    team = fields.text("team")
    if fields.text("scope") == "matching":
        texts = (fields.text(name) for name in ("job", "fingerprint", "since", "until"))
        wanted = msgspec.structs.asdict(wanted_letters(*texts))
        letters = {name: value for name, value in wanted.items() if value is not None}
        return [Choice(team, letters or {"everything": True})]
    runs = _ids("run", [str(run) for run in form.getall("run", [])])
    if not runs:
        raise InvalidInputError.at("run", "none is picked")
    return [Choice(team, {"runs": runs[:RUNS_MAX]})]


def _ids(where: str, texts: list[str]) -> list[UUID]:
    try:
        return [UUID(text) for text in texts]
    except ValueError:
        raise InvalidInputError.at(where, "is not an id") from None


ROUTER = Router("/", route_handlers=[replay_letters, dismiss_letters, cancel_replay])
