"""`matins jobs pause` and `resume`: one job, or all that a team and labels select."""

from __future__ import annotations

from typing import Annotated

import typer

from matins.cli.connecting import Named, change, split_name
from matins.cli.moments import parse_end
from matins.cli.showing import AsJson
from matins.cli.words import DryRun, Reason, change_words
from matins.domain.jobs.misfire import Missed
from matins.domain.jobs.pausing import Pause

commands = typer.Typer()

Until = Annotated[
    str | None, typer.Option(help="When it goes on by itself: 2h, tomorrow 06:00, or an instant.")
]
MissedThen = Annotated[
    Missed, typer.Option(help="With --until: what then becomes of the due times in the pause.")
]


@commands.command(epilog="Example: matins jobs pause demo/every-minute --until 2h")
def pause(
    job: Named,
    *,
    reason: Reason = "",
    until: Until = None,
    missed: MissedThen = "skip",
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Let nothing of a job run until it is resumed."""
    wanted = Pause(reason, None if until is None else parse_end("--until", until), missed)
    change(
        lambda client: client.pause_job(*split_name(job), wanted, dry_run=dry_run),
        lambda answer: change_words(answer, dry_run=dry_run),
        as_json=as_json,
    )


@commands.command(epilog="Example: matins jobs resume demo/every-minute --missed last")
def resume(
    job: Named,
    missed: Annotated[
        Missed, typer.Option(help="What becomes of the due times in the pause.")
    ] = "skip",
    reason: Reason = "",
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Let a paused job go on. What it missed is skipped, unless you choose otherwise."""
    change(
        lambda client: client.resume_job(*split_name(job), missed, reason=reason, dry_run=dry_run),
        lambda answer: change_words(answer, dry_run=dry_run),
        as_json=as_json,
    )
