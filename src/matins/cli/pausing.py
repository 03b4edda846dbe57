"""`matins jobs pause` and `resume`: one job, or all that a team and labels select."""

from __future__ import annotations

import sys
from typing import Annotated, Final, cast

import typer

from matins.cli.connecting import change, split_name
from matins.cli.selecting import (
    OfLabels,
    OfTeam,
    OneJob,
    selected_by,
    selection_words,
    tell_part,
)
from matins.cli.showing import AsJson
from matins.cli.words import DryRun, Reason
from matins.client.sdk import Matins
from matins.domain.jobs.misfire import RUN_MAX, Missed
from matins.domain.jobs.pausing import Pause
from matins.domain.jobs.selecting import SelectionChanged
from matins.domain.values.errors import InvalidInputError
from matins.domain.views import Changed
from matins.insight.explain.english import counted
from matins.kernel.moments import parse_ahead

CHOICES: Final = ", ".join(RUN_MAX)

commands = typer.Typer()

Until = Annotated[
    str | None, typer.Option(help="When it goes on by itself: 2h, tomorrow 06:00, or an instant.")
]
MissedThen = Annotated[
    Missed, typer.Option(help="With --until: what then becomes of the due times in the pause.")
]
MissedNow = Annotated[
    Missed | None,
    typer.Option(help="What becomes of the due times in the pause; without it you are asked."),
]


@commands.command(epilog="Example: matins jobs pause --team payments --label tier=gold --dry-run")
def pause(  # noqa: PLR0913 # an option each
    job: OneJob = None,
    *,
    team: OfTeam = None,
    labels: OfLabels = None,
    reason: Reason = "",
    until: Until = None,
    missed: MissedThen = "skip",
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Let nothing of a job run until it is resumed, or of all jobs that a team and labels select.

    Of many, one that is paused already keeps its own pause.
    """
    pause = Pause(reason, None if until is None else parse_ahead("--until", until), missed)
    selected = selected_by(job, team, labels)

    async def work(client: Matins) -> Changed | SelectionChanged:
        if isinstance(selected, str):
            return await client.pause_job(*split_name(selected), pause, dry_run=dry_run)
        return await client.pause_jobs(*selected, pause, dry_run=dry_run, on_part=tell_part)

    change(work, selection_words(dry_run=dry_run), as_json=as_json)


@commands.command(epilog="Example: matins jobs resume demo/every-minute --missed last")
def resume(
    job: OneJob = None,
    *,
    team: OfTeam = None,
    labels: OfLabels = None,
    missed: MissedNow = None,
    reason: Reason = "",
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Let a paused job go on, or all that a team and labels select.

    If due times passed meanwhile, and --missed does not say what becomes of them, you are asked.
    """
    selected = selected_by(job, team, labels)

    async def try_it(client: Matins, choice: Missed, *, dry: bool) -> Changed | SelectionChanged:
        if isinstance(selected, str):
            name = split_name(selected)
            return await client.resume_job(*name, choice, reason=reason, dry_run=dry)
        return await client.resume_jobs(
            *selected, choice, reason=reason, dry_run=dry, on_part=tell_part
        )

    async def work(client: Matins) -> Changed | SelectionChanged:
        if missed is not None or dry_run:
            return await try_it(client, missed or "skip", dry=dry_run)
        preview = await try_it(client, "skip", dry=True)
        return await try_it(client, _ask(preview.skipped + preview.queued), dry=False)

    change(work, selection_words(dry_run=dry_run), as_json=as_json)


def _ask(count: int) -> Missed:
    """Return what becomes of what was missed: asked for, if there is anybody and anything."""
    if not count:
        return "skip"
    message = f"{counted(count, 'due time')} passed in the pause"
    if not sys.stdin.isatty():
        raise InvalidInputError.at("--missed", f"{message}; say what becomes of it: {CHOICES}")
    while True:
        answer = typer.prompt(f"{message}. Run none (skip), the last, or all?", "skip", err=True)
        if answer in RUN_MAX:
            return cast("Missed", answer)
