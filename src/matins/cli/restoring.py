"""`matins resume-after-restore`."""

from __future__ import annotations

from typing import Annotated

import typer

from matins.cli.connecting import with_api
from matins.cli.pausing import CHOICES
from matins.cli.showing import AsJson, local, print_json, tell
from matins.cli.words import DryRun
from matins.client.sdk import Matins
from matins.domain.jobs.misfire import Missed
from matins.domain.runs.restores import Resumed, Resumption
from matins.domain.values.errors import InvalidInputError
from matins.insight.explain.english import counted
from matins.kernel.moments import HELP, parse_moment

commands = typer.Typer()


@commands.command(
    "resume-after-restore",
    epilog="Example: matins resume-after-restore --missed all --from 02:00 --dry-run",
)
def resume_after_restore(
    *,
    missed: Annotated[
        Missed | None, typer.Option(help="What of each job is to run of what may have run.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--from", help=f"What was due before has run, and is left out. {HELP}."),
    ] = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Decide about due times that may have run before the database was restored.

    Until then jobs with misfire policy `all` don't catch up on them. Others go on by themselves.
    """
    begin = None if since is None else parse_moment("--from", since)

    async def work(client: Matins) -> Resumed:
        resumption = Resumption(missed or "all", begin)
        if missed is None and not dry_run:
            resumed = await client.resume_after_restore(resumption, dry_run=True)
            if resumed.uncertain:
                message = f"{_counted(resumed)} may have run; say what becomes of them: {CHOICES}"
                raise InvalidInputError.at("--missed", message)
        return await client.resume_after_restore(resumption, dry_run=dry_run)

    answer = with_api(work)
    if as_json:
        print_json(answer)
        return
    restore, will = answer.restore, "would be " if dry_run else ""
    tell(
        f"{_counted(answer)} from {local(restore.lost_since)} to {local(restore.seen_until)} may"
        f" have run: {answer.to_run} {will}run, {answer.left_out} {will}left out"
    )


def _counted(resumed: Resumed) -> str:
    return f"{counted(resumed.uncertain, 'due time')} of {counted(resumed.jobs, 'job')}"
