"""`matins backfill`: past due times of a job are made up for, under the revisions of then."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from functools import partial
from typing import Annotated
from uuid import UUID

import typer
from rich.table import Table

from matins.cli import watching
from matins.cli.connecting import Named, split_name, with_api
from matins.cli.showing import NEVER, AsJson, local, print_json, tell
from matins.cli.tables import Cell, console, facts, state, table
from matins.cli.watching import Watch
from matins.client.sdk import Matins
from matins.domain.runs.backfills.values import (
    LIMIT_MAX,
    Backfill,
    BackfillPlan,
    BackfillRequest,
    LeftOut,
    Order,
)
from matins.domain.values.names import DEFAULT_TEAM
from matins.insight.explain.english import counted
from matins.kernel.clock import HostClock
from matins.kernel.moments import HELP, parse_moment

commands = typer.Typer()

TheBackfill = Annotated[UUID, typer.Argument(metavar="BACKFILL", help="The backfill's id.")]

_HEADS = ("BACKFILL", "JOB", "STATE", "FROM", "TO", "ENDED", "OF", "UNFINISHED", "ENDS")
_STACKS = (("BACKFILL", "JOB"), ("STATE", "ENDS"), ("FROM", "TO"), ("ENDED", "OF", "UNFINISHED"))
_LEFT_OUT_HEADS = ("FROM", "TO", "DUE TIMES", "LEFT OUT, SINCE")


@commands.command(
    epilog="Example: matins backfill start payments/nightly --from 2026-11-01 --to 2026-11-08"
    " --limit 3 --dry-run"
)
def start(  # noqa: PLR0913, PLR0917 # a command's options
    job: Named,
    since: Annotated[str, typer.Option("--from", help=f"The first moment. {HELP}.")],
    until: Annotated[
        str | None, typer.Option("--to", help="Due times before this; without it, before now.")
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=LIMIT_MAX, help="The most runs of it at once.")
    ] = 1,
    order: Annotated[Order, typer.Option(help="Which due times are made up for first.")] = "oldest",
    again: Annotated[bool, typer.Option("--again", help="Also due times that ran.")] = False,
    reason: Annotated[str, typer.Option(help="Why, for those who look at it later.")] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell what would run, what not, and why.")
    ] = False,
    watch: Watch = False,
    as_json: AsJson = False,
) -> None:
    """Make up for the past due times of a job. Each runs under the revision that was in force, and
    behind what is due now.
    """
    team, name = split_name(job)
    now = HostClock().now()
    request = BackfillRequest(
        since=parse_moment("--from", since, now=now),
        until=None if until is None or until == "now" else parse_moment("--to", until, now=now),
        limit=limit,
        order=order,
        again=again,
        reason=reason,
    )

    async def work(client: Matins) -> None:
        started = await client.start_backfill(team, name, request, dry_run=dry_run)
        if not as_json:
            _print_plan(started.plan)
        elif not watch or started.backfill is None:
            print_json(started)
        if started.backfill is None:
            return
        if not as_json:
            tell(f"started  {started.backfill.id}")
        if watch:
            await _watched(client, started.backfill, as_json=as_json)

    with contextlib.suppress(KeyboardInterrupt):
        with_api(work)


@commands.command("list", epilog="Example: matins backfill list payments/nightly")
def list_backfills(
    job: Annotated[
        str | None, typer.Argument(metavar="[TEAM/NAME]", help="Only this job's backfills.")
    ] = None,
    team: Annotated[str, typer.Option(help="Of this team's jobs.")] = DEFAULT_TEAM,
    as_json: AsJson = False,
) -> None:
    """List backfills, newest first: those of a team's jobs, or of one job."""
    of_team, name = (team, None) if job is None else split_name(job)
    backfills = with_api(lambda client: client.list_backfills(of_team, name))
    if as_json:
        print_json(backfills)
        return
    printer = console()
    printer.print(table(printer, _HEADS, [_row(backfill) for backfill in backfills], _STACKS))


@commands.command(
    epilog="Example: matins backfill show 5f0c7c5a-8a8e-4b0e-9d5e-0f6f2b1c9a11 --watch"
)
def show(backfill: TheBackfill, watch: Watch = False, as_json: AsJson = False) -> None:
    """Show how far a backfill is, and what it leaves out and why."""

    async def work(client: Matins) -> None:
        shown = await client.get_backfill(backfill)
        if watch:
            await _watched(client, shown, as_json=as_json)
        else:
            _print(shown, as_json=as_json)

    with contextlib.suppress(KeyboardInterrupt):
        with_api(work)


@commands.command(epilog="Example: matins backfill pause 5f0c7c5a-8a8e-4b0e-9d5e-0f6f2b1c9a11")
def pause(backfill: TheBackfill, as_json: AsJson = False) -> None:
    """Let a backfill make no more runs until it is resumed. Those that are made go on."""
    _tell(with_api(lambda client: client.pause_backfill(backfill)), as_json=as_json)


@commands.command(epilog="Example: matins backfill resume 5f0c7c5a-8a8e-4b0e-9d5e-0f6f2b1c9a11")
def resume(backfill: TheBackfill, as_json: AsJson = False) -> None:
    """Let a paused backfill go on."""
    _tell(with_api(lambda client: client.resume_backfill(backfill)), as_json=as_json)


@commands.command(
    epilog="Example: matins backfill cancel 5f0c7c5a-8a8e-4b0e-9d5e-0f6f2b1c9a11 --runs"
)
def cancel(
    backfill: TheBackfill,
    runs: Annotated[
        bool, typer.Option("--runs", help="End also its runs that have not ended.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """End a backfill: it makes no more runs. Those that are made go on, unless --runs is given."""
    _tell(with_api(lambda client: client.cancel_backfill(backfill, runs=runs)), as_json=as_json)


async def _watched(client: Matins, backfill: Backfill, *, as_json: bool) -> None:
    look = partial(client.get_backfill, backfill.id)
    await watching.watch(backfill, look, _facts, as_json=as_json)


def _print(backfill: Backfill, *, as_json: bool) -> None:
    if as_json:
        print_json(backfill)
        return
    console().print(_facts(backfill))
    _print_left_out(backfill.ranges)


def _tell(backfill: Backfill, *, as_json: bool) -> None:
    if as_json:
        print_json(backfill)
        return
    unfinished = sum(backfill.unfinished.values())
    still = f"; {counted(unfinished, 'run')} of it not ended yet" if unfinished else ""
    tell(f"{backfill.state}  {backfill.id}  {backfill.team}/{backfill.job}{still}")


def _print_plan(plan: BackfillPlan) -> None:
    tell(f"{counted(plan.due, 'due time')}, of which {plan.to_run} to run")
    if plan.first_due_at is not None:
        tell(f"from {local(plan.first_due_at)} to {local(plan.last_due_at)}")
    for reason, count in plan.left_out.items():
        tell(f"{count:8} left out: {reason}")
    _print_left_out(plan.ranges)


def _print_left_out(ranges: list[LeftOut]) -> None:
    rows = [
        (
            local(group.first_at),
            local(group.last_at),
            str(group.due_count or NEVER),
            group.reason,
        )
        for group in ranges
    ]
    if rows:
        printer = console()
        printer.print(table(printer, _LEFT_OUT_HEADS, rows))


def _row(backfill: Backfill) -> tuple[Cell, ...]:
    return (
        str(backfill.id),
        f"{backfill.team}/{backfill.job}",
        state(backfill.state),
        local(backfill.since),
        local(backfill.until),
        str(backfill.counts.ended),
        str(backfill.counts.planned),
        _counts(backfill.unfinished.items()),
        local(backfill.finished_at or backfill.ends_at),
    )


def _facts(backfill: Backfill) -> Table:
    counts = backfill.counts
    ended = {
        "succeeded": counts.succeeded,
        "dead": counts.dead,
        "cancelled": counts.cancelled,
        "skipped": counts.skipped,
    }
    pace = "" if backfill.per_hour is None else f"{backfill.per_hour:.0f} an hour"
    pairs: list[tuple[str, Cell]] = [
        ("backfill", str(backfill.id)),
        ("job", f"{backfill.team}/{backfill.job}"),
        ("state", state(backfill.state)),
        ("reason", backfill.reason),
        (
            "due times",
            f"{local(backfill.since)} to {local(backfill.until)}, {backfill.order} first",
        ),
        ("at once", str(backfill.limit)),
        ("ended", f"{counts.ended} of {counts.planned}" + _in_brackets(_counts(ended.items()))),
        ("unfinished", _counts(backfill.unfinished.items())),
        ("left out", str(counts.left_out) if counts.left_out else ""),
        ("pace", pace),
        ("ends", local(backfill.ends_at) if backfill.ends_at else ""),
        ("finished", local(backfill.finished_at) if backfill.finished_at else ""),
    ]
    return facts(pairs)


def _counts(by_state: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{count} {name}" for name, count in by_state if count)


def _in_brackets(text: str) -> str:
    return f" ({text})" if text else ""
