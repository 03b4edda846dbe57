"""`matins audit`: is every due time accounted for?"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer
from rich.text import Text

from matins.cli.connecting import split_name, with_api
from matins.cli.showing import AsJson, local, print_json, tell
from matins.cli.tables import Cell, console, table
from matins.client.sdk import Matins
from matins.domain.views import AuditPage, JobAudit
from matins.insight.explain.english import counted
from matins.kernel.moments import HELP, parse_moment

commands = typer.Typer()

LISTED = 10
"""How many missing, unexpected or doubled due times of a job are listed."""

_HEADS = (
    *("JOB", "DUE", "SUCCEEDED", "DEAD", "CANCELLED", "UNFINISHED", "SKIPPED"),
    *("PENDING", "MISSING", "UNEXPECTED"),
)
_STACKS = (
    ("JOB", "SKIPPED"),
    ("DUE", "SUCCEEDED"),
    ("DEAD", "CANCELLED"),
    ("UNFINISHED", "PENDING"),
    ("MISSING", "UNEXPECTED"),
)


@commands.command(epilog="Example: matins audit --team demo --since 6h")
def audit(
    team: Annotated[str | None, typer.Option(help="Only the jobs of this team.")] = None,
    job: Annotated[str | None, typer.Option(help="Only this job: TEAM/NAME.")] = None,
    since: Annotated[str | None, typer.Option(help=f"{HELP}; without it, a day ago.")] = None,
    until: Annotated[str | None, typer.Option(help=f"{HELP}; without it, now.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compute anew what was due and compare it with what is recorded.

    Exit code 1: a due time is missing or overdue, a run waits too long, or has no due time.
    """
    begin = None if since is None else parse_moment("--since", since)
    end = None if until is None else parse_moment("--until", until)

    async def work(client: Matins) -> AuditPage:
        return await _audit(client, team, job, begin, end)

    page = with_api(work)
    if as_json:
        print_json(page)
    else:
        _show(page)
    if not all(audit.holds for audit in page.jobs):
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
        await client.get_job(team, name)  # a name that nobody has is no good news
    return page


def _show(page: AuditPage) -> None:
    if page.jobs:
        printer = console()
        printer.print(table(printer, _HEADS, [_row(job) for job in page.jobs], _STACKS))
    for audit in page.jobs:
        job = f"{audit.team}/{audit.job}"
        _list(f"{job} is missing", audit.missing, audit.missing_count)
        _list(f"{job} has unexpected", audit.unexpected, audit.unexpected_count)
        _list(f"{job} has more than one row for", audit.doubled, audit.doubled_count)
        for late in _late(audit):
            tell(f"{job}: {late}")
        if audit.judged_from:
            tell(f"{job}: judged from {local(audit.judged_from)} on, as older is purged")
        if audit.fault:
            tell(f"{job}: {audit.fault}")
    window = f"{local(page.since)} to {local(page.until)}"
    tell(f"{window}: {_verdict(page.jobs)}")


def _verdict(jobs: list[JobAudit]) -> str:
    """One line on all jobs; what ended badly is counted though it is accounted for."""
    bad = sum(not job.holds for job in jobs)
    counts = {
        "succeeded": sum(job.succeeded for job in jobs),
        "dead": sum(job.dead for job in jobs),
        "cancelled": sum(job.cancelled for job in jobs),
        "unfinished": sum(job.unfinished for job in jobs),
        "skipped": sum(sum(job.skipped.values()) for job in jobs),
        "pending": sum(job.pending for job in jobs),
    }
    ends = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    due = f"{counted(len(jobs), 'job')}, {counted(sum(job.due for job in jobs), 'due time')}"
    verdict = f"{counted(bad, 'job')} in disorder" if bad else "every due time is accounted for"
    return f"{due}: {verdict}" + (f" ({ends})" if ends else "")


def _late(audit: JobAudit) -> list[str]:
    faults = []
    if audit.overdue:
        faults.append(f"{counted(audit.overdue, 'due time')} pending for over a minute")
    if audit.stalled:
        faults.append(f"{counted(audit.stalled, 'run')} waiting for too long")
    return [f"{', '.join(faults)}: {'; '.join(audit.causes)}"] if faults else []


def _row(audit: JobAudit) -> tuple[Cell, ...]:
    skipped = ", ".join(f"{count} {reason}" for reason, count in sorted(audit.skipped.items()))
    return (
        f"{audit.team}/{audit.job}",
        str(audit.due),
        str(audit.succeeded),
        _count(audit.dead),
        str(audit.cancelled),
        str(audit.unfinished),
        skipped or "0",
        str(audit.pending),
        _count(audit.missing_count),
        _count(audit.unexpected_count),
    )


def _count(bad: int) -> Text:
    return Text(str(bad), style="bold red" if bad else "")


def _list(what: str, instants: list[datetime], count: int) -> None:
    for at in instants[:LISTED]:
        tell(f"{what} {local(at)}")
    if count > LISTED:
        tell(f"{what} {count - min(LISTED, len(instants))} more")
