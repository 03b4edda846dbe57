"""`matins apply`."""

from __future__ import annotations

from typing import Annotated

import typer

from matins.cli.applying import STDIN, Applied, apply_jobs, read_jobs, read_text
from matins.cli.connecting import with_api
from matins.cli.showing import AsJson, local, print_json, tell
from matins.cli.words import Reason
from matins.client.sdk import Matins

commands = typer.Typer()


@commands.command(epilog="Example: matins apply -f jobs.yaml --dry-run")
def apply(
    file: Annotated[
        str,
        typer.Option("--file", "-f", help=f"A file of jobs, YAML or JSON; {STDIN} reads stdin."),
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check all, tell what would change, store nothing.")
    ] = False,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Make or change the jobs and calendars of a file. Applied again, it changes nothing."""
    name, text = read_text(file)
    wanted = read_jobs(text, name)

    async def work(client: Matins) -> list[Applied]:
        done: list[Applied] = []
        async for applied in apply_jobs(client, wanted, dry_run=dry_run, reason=reason):
            done.append(applied)
            if not as_json:
                tell(_line(applied, dry_run=dry_run))
        return done

    done = with_api(work)
    if as_json:
        print_json(done)


def _line(applied: Applied, *, dry_run: bool) -> str:
    change = f"would be {applied.change}" if dry_run else applied.change
    name = applied.job or (f"calendar {applied.calendar}" if applied.calendar else "keep")
    line = f"{change:<{18 if dry_run else 9}}  {applied.team}/{name}"
    if applied.next_due_at:
        line += f"  next due {local(applied.next_due_at)}"
    if applied.is_over:
        line += "  never due: its schedule lies in the past"
    if applied.skipped:
        line += f"  ({applied.skipped} passed due times are recorded as skipped)"
    return line
