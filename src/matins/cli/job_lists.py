"""`matins jobs list`: what jobs did last, and what they will do next."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

import msgspec
import typer
from rich.console import Console

from matins.cli.connecting import with_api
from matins.cli.marks import LEGEND, marks
from matins.cli.showing import AsJson, ago, left, local, print_json, tell
from matins.cli.tables import Cell, console, state, table
from matins.client.sdk import Matins
from matins.domain.jobs.spec import Job
from matins.domain.runs.recent import RecentRuns
from matins.domain.schedules.schedule import Schedule, Times
from matins.domain.views import JobPage
from matins.insight.explain.english import listed
from matins.kernel.clock import HostClock

RECENT: Final = 10
"""So many of each job's last runs are shown."""

_HEADS = ("JOB", "STATE", "SCHEDULE", "LAST", "NEXT", "LEFT", "RUNS", "REASON")
_STACKS = (
    ("JOB", "SCHEDULE", "REASON"),
    ("STATE", "RUNS"),
    ("LAST", "LEFT"),
    ("NEXT",),
)
_NO_RUNS = RecentRuns()

commands = typer.Typer()


@commands.command("list", epilog=f"RUNS: {LEGEND}.\n\nExample: matins jobs list --team demo")
def list_jobs(
    team: Annotated[str | None, typer.Option(help="Only the jobs of this team.")] = None,
    as_json: AsJson = False,
) -> None:
    """List jobs with what they will do next.

    LAST is how long ago the last run was due, NEXT when the next one starts, LEFT how long until
    then, and RUNS how the last ten went, the newest at the right.
    """

    async def work(client: Matins) -> JobPage:
        return await client.whole_jobs_page(team, recent=RECENT)

    page = with_api(work)
    for unreadable in page.unreadable:
        tell(f"{unreadable.team}/{unreadable.name}: {unreadable.fault}")
    if as_json:
        print_json([_with_runs(job, _runs_of(page, job)) for job in page.jobs])
        return
    printer, now = console(), HostClock().now()
    rows = [_row(printer, now, job, _runs_of(page, job)) for job in page.jobs]
    printer.print(table(printer, _HEADS, rows, _STACKS))


def _runs_of(page: JobPage, job: Job) -> RecentRuns:
    return page.recent.get(job.id, _NO_RUNS)


def _with_runs(job: Job, recent: RecentRuns) -> dict[str, object]:
    """Return a job with its last runs, newest first."""
    fields: dict[str, object] = msgspec.to_builtins(job)
    return fields | {"recent": msgspec.to_builtins(recent)}


def _row(printer: Console, now: datetime, job: Job, recent: RecentRuns) -> tuple[Cell, ...]:
    last = recent.runs[0].due_at if recent.runs else None
    return (
        f"{job.team}/{job.spec.name}",
        state("overdue" if job.overdue else job.state),
        describe(job.spec.schedule),
        ago(last, now),
        local(job.next_fire_at),
        left(job.next_fire_at, now),
        marks(printer, recent.runs),
        job.overdue or job.reason,
    )


def describe(schedule: Schedule | None) -> str:
    """Return a schedule in a few words; `matins jobs preview` has a sentence for it."""
    if schedule is None:
        return "only triggered"
    if schedule.follows_end:
        return f"{schedule.every} after the end"
    if schedule.chain is not None:
        return f"after {listed(schedule.chain.jobs)}"
    return " or ".join(
        _kind(times, times.timezone or schedule.timezone) for times in schedule.kinds()
    )


def _kind(times: Times, timezone: str) -> str:
    # As written, and not parsed: a server may know zones and kinds that this program does not.
    match times:
        case Times(every=str(every)):
            return f"every {every}"
        case Times(cron=str(cron)):
            return f"{cron} in {timezone}"
        case Times(rrule=str(rrule)):
            rule = next((part for part in rrule.split() if "FREQ=" in part), rrule)
            return f"{rule.removeprefix('RRULE:')} in {timezone}"
    instants = times.instants
    more = f" and {len(instants) - 1} more" if len(instants) > 1 else ""
    return f"at {instants[0]}{more}" if instants else "never"
