"""`matins jobs pause` and `resume`: one job, or all that a team and labels select."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Final, cast

import typer

from matins.cli.connecting import change, split_name
from matins.cli.inputs import read_pairs
from matins.cli.showing import AsJson
from matins.cli.words import DryRun, Reason, change_words
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

OneJob = Annotated[
    str | None, typer.Argument(metavar="[TEAM/NAME]", help="NAME alone is in team default.")
]
OfTeam = Annotated[str | None, typer.Option("--team", help="All jobs of this team instead.")]
OfLabels = Annotated[
    list[str] | None,
    typer.Option("--label", metavar="NAME=VALUE", help="With --team: only jobs with this label."),
]
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
    selected = _selected(job, team, labels)

    async def work(client: Matins) -> Changed | SelectionChanged:
        if isinstance(selected, str):
            return await client.pause_job(*split_name(selected), pause, dry_run=dry_run)
        return await client.pause_jobs(*selected, pause, dry_run=dry_run)

    change(work, _words(dry_run=dry_run), as_json=as_json)


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
    selected = _selected(job, team, labels)

    async def try_it(client: Matins, choice: Missed, *, dry: bool) -> Changed | SelectionChanged:
        if isinstance(selected, str):
            name = split_name(selected)
            return await client.resume_job(*name, choice, reason=reason, dry_run=dry)
        return await client.resume_jobs(*selected, choice, reason=reason, dry_run=dry)

    async def work(client: Matins) -> Changed | SelectionChanged:
        if missed is not None or dry_run:
            return await try_it(client, missed or "skip", dry=dry_run)
        preview = await try_it(client, "skip", dry=True)
        return await try_it(client, _ask(preview.skipped + preview.queued), dry=False)

    change(work, _words(dry_run=dry_run), as_json=as_json)


def _selected(
    job: str | None, team: str | None, labels: list[str] | None
) -> str | tuple[str, dict[str, str]]:
    """Return which job is meant, or of which team those with which labels."""
    if (job is None) == (team is None):
        raise InvalidInputError.at("", "name either one job, as TEAM/NAME, or a --team")
    if job is not None:
        if labels:
            raise InvalidInputError.at("--label", "goes with --team, and not with one job")
        return job
    return str(team), read_pairs("--label", labels or ())


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


def _words(*, dry_run: bool) -> Callable[[Changed | SelectionChanged], str]:
    def words(answer: Changed | SelectionChanged) -> str:
        if isinstance(answer, Changed):
            return change_words(answer, dry_run=dry_run)
        lines = [
            f"{outcome.change:<9}  {outcome.job}{': ' if outcome.reason else ''}{outcome.reason}"
            for outcome in answer.jobs
        ]
        would = "would be " if dry_run else ""
        summary = f"{answer.changed} of {counted(len(answer.jobs), 'job')} {would}changed"
        if answer.skipped or answer.queued:
            summary += (
                f"; due times that had passed: {answer.skipped} skipped, {answer.queued} queued"
            )
        return "\n".join([*lines, summary])

    return words
