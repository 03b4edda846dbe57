"""The pages of dead letters: groups of alike ones, the letters of a group, and their replays."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple
from uuid import UUID

from litestar import Response, Router, get
from litestar.params import FromQuery

from matins.api.dependencies import Dependencies, Letters, Replays
from matins.domain.runs.dead import DeadFilter, DeadGroup
from matins.domain.runs.replays import RATE, Replay
from matins.domain.values.errors import InvalidInputError, check
from matins.store.dead import LOOK_MAX, PostgresDeadLetters
from matins.store.replays import PostgresReplayChanges
from matins.web.live import LivePart
from matins.web.rendering import NavigationItem, WebRequest, page, render

PAGE: Final = 50
GROUPS_MAX: Final = 200
REPLAYS_SHOWN: Final = 5

ITEM = NavigationItem("Dead letters", "/dead", "d")


class TeamGroup(NamedTuple):
    """Alike letters of a job."""

    team: str
    group: DeadGroup

    @property
    def key(self) -> str:
        """What names it in a form."""
        return f"{self.team}/{self.group.job}/{self.group.fingerprint}"


@get("/dead")
async def show_groups(
    request: WebRequest, letters: Letters, replays: Replays, team: FromQuery[str] = ""
) -> Response[bytes]:
    """Show groups of open dead letters, the largest first: of all teams, or of one."""
    team = team.strip()
    groups, shown = await asyncio.gather(_groups(letters, team), _replays(replays, team))
    return page(
        request,
        "dead.html",
        groups=groups,
        total=sum(group.count for _, group in groups),
        look=LOOK_MAX,
        replays=shown,
        team=team,
        rate=RATE,
    )


@get("/dead/letters")
async def show_letters(  # noqa: PLR0913, PLR0917 # what an address may say
    request: WebRequest,
    letters: Letters,
    replays: Replays,
    team: FromQuery[str] = "",
    job: FromQuery[str] = "",
    fingerprint: FromQuery[str] = "",
    since: FromQuery[str] = "",
    until: FromQuery[str] = "",
    dismissed: FromQuery[bool] = False,
    before: FromQuery[UUID | None] = None,
) -> Response[bytes]:
    """Show letters of a team, newest due time first: the open ones, or those that were closed."""
    if not team.strip():
        raise InvalidInputError.at("team", "is missing; letters are those of one team")
    team = team.strip()
    wanted = wanted_letters(job, fingerprint, since, until)
    found, groups, shown = await asyncio.gather(
        letters.page(team, wanted, before, PAGE, dismissed=dismissed),
        letters.groups(team, wanted, GROUPS_MAX),
        _replays(replays, team),
    )
    return page(
        request,
        "letters.html",
        found=found,
        total=sum(group.count for group in groups),
        error=groups[0].error if len(groups) == 1 else "",
        team=team,
        dismissed=dismissed,
        wanted=wanted,
        replays=shown,
        rate=RATE,
    )


def wanted_letters(job: str, fingerprint: str, since: str, until: str) -> DeadFilter:
    """Read a filter as an address or a form has it. Raises InvalidInputError."""
    wanted = DeadFilter(
        job.strip() or None,
        fingerprint.strip() or None,
        _instant("since", since),
        _instant("until", until),
    )
    check(wanted.problems())
    return wanted


def _instant(where: str, text: str) -> datetime | None:
    if not text.strip():
        return None
    try:
        instant = datetime.fromisoformat(text.strip())
    except ValueError:
        message = f"is {text[:40]!r}; write an instant such as 2026-11-30T02:00Z"
        raise InvalidInputError.at(where, message) from None
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)


async def _groups(letters: PostgresDeadLetters, team: str) -> Sequence[TeamGroup]:
    if not team:
        return [TeamGroup(*found) for found in await letters.groups_of_all(GROUPS_MAX)]
    return [
        TeamGroup(team, group) for group in await letters.groups(team, DeadFilter(), GROUPS_MAX)
    ]


async def _replays(replays: PostgresReplayChanges, team: str) -> Sequence[Replay]:
    if team:
        return await replays.of_team(team, REPLAYS_SHOWN)
    return await replays.newest(REPLAYS_SHOWN)


async def _draw(dependencies: Dependencies, argument: str) -> str:
    shown = await _replays(dependencies.replays, argument)
    return render("parts/replays.html", await dependencies.reads.now(), replays=shown)


LIVE = [LivePart("replays", _draw)]
ROUTER = Router("/", route_handlers=[show_groups, show_letters])
