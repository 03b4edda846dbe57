"""`matins audit`: is every due time accounted for?"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer
from rich.text import Text

from matins.cli.connecting import parse_moment, split_name, with_api
from matins.cli.showing import AsJson, Cell, console, local, print_json, table, tell
from matins.client.sdk import Matins
from matins.domain.answers import AuditPage, JobAudit

commands = typer.Typer()

LISTED = 10
"""How many missing or unexpected due times of a job are listed."""

_HEADS = ("JOB", "DUE", "EXECUTED", "SKIPPED", "PENDING", "MISSING", "UNEXPECTED")
_STACKS = (("JOB", "SKIPPED"), ("DUE", "EXECUTED"), ("PENDING",), ("MISSING", "UNEXPECTED"))


@commands.command(epilog="Example: matins audit --team demo --since 6h")
def audit(
    team: Annotated[str | None, typer.Option(help="Only the jobs of this team.")] = None,
    job: Annotated[str | None, typer.Option(help="Only this job: TEAM/NAME.")] = None,
    since: Annotated[
        str | None, typer.Option(help="An instant, or 6h for 6h ago; without it, a day ago.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="The same; without it, now.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compute anew what was due and compare it with what is on record.

    Exit code 1: a due time is missing, or a run has none.
    """
    begin, end = parse_moment("since", since), parse_moment("until", until)

    async def work(client: Matins) -> AuditPage:
        return await _audit(client, team, job, begin, end)

    page = with_api(work)
    if as_json:
        print_json(page)
    else:
        _show(page)
    if not all(it.holds for it in page.jobs):
        raise typer.Exit(1)


async def _audit(
    client: Matins,
    team: str | None,
    job: str | None,
    begin: datetime | None,
    end: datetime | None,
) -> AuditPage:
    name = None
    if job is not None:
        team, name = (team, job) if team and "/" not in job else split_name(job)
    page = await client.audit(team=team, job=name, since=begin, until=end)
    if team and name and not page.jobs:
        await client.job(team, name)  # a name that nobody has is no good news
    return page


def _show(page: AuditPage) -> None:
    if page.jobs:
        printer = console()
        printer.print(table(printer, _HEADS, [_row(it) for it in page.jobs], _STACKS))
    for it in page.jobs:
        _list(f"{it.team}/{it.job} is missing", it.missing, it.missing_count)
        _list(f"{it.team}/{it.job} has unexpected", it.unexpected, it.unexpected_count)
        if it.fault:
            tell(f"{it.team}/{it.job}: {it.fault}")
    bad = sum(not it.holds for it in page.jobs)
    due = sum(it.due for it in page.jobs)
    verdict = f"{bad} jobs do not hold" if bad else "every due time is accounted for"
    window = f"{local(page.since)} to {local(page.until)}"
    tell(f"{window}: {len(page.jobs)} jobs, {due} due times: {verdict}")


def _row(it: JobAudit) -> tuple[Cell, ...]:
    skipped = ", ".join(f"{count} {reason}" for reason, count in sorted(it.skipped.items()))
    return (
        f"{it.team}/{it.job}",
        str(it.due),
        f"{it.executed} ({it.unfinished} unfinished)" if it.unfinished else str(it.executed),
        skipped or "0",
        str(it.pending),
        _count(it.missing_count),
        _count(it.unexpected_count),
    )


def _count(bad: int) -> Text:
    return Text(str(bad), style="bold red" if bad else "")


def _list(what: str, instants: list[datetime], count: int) -> None:
    for instant in instants[:LISTED]:
        tell(f"{what} {local(instant)}")
    if count > LISTED:
        tell(f"{what} {count - min(LISTED, len(instants))} more")
