"""`matins status`."""

from __future__ import annotations

from collections.abc import Iterator

import typer

from matins.cli.connecting import with_api
from matins.cli.showing import AsJson, local, print_json, tell
from matins.cli.tables import Cell, console, facts, state, table
from matins.client.sdk import Matins
from matins.domain.status.facts import COUNT_MAX, PoolStatus
from matins.domain.status.findings import Finding, SystemStatus
from matins.domain.values.ids import PARTITIONS

_HEADS = ("POOL", "EXECUTORS", "QUEUED", "FIRST SINCE", "LAST HEARTBEAT")

commands = typer.Typer()


@commands.command("status", epilog="Example: matins status --json")
def show_status(as_json: AsJson = False) -> None:
    """Tell in one look whether all is well, and what to do where it is not.

    The API judges it from the rows and the database's clock, whatever has become of schedulers. The
    exit code is 1 where anything is wrong, and 3 where no API answers.
    """

    async def work(client: Matins) -> SystemStatus:
        return await client.get_status()

    status = with_api(work)
    if as_json:
        print_json(status)
    else:
        _print(status)
    if not status.is_well:
        raise typer.Exit(1)


def _print(status: SystemStatus) -> None:
    printer = console()
    printer.print(state("well") if status.is_well else state("wrong"), end="")
    tell(f", as seen at {local(status.judged_at)}")
    for finding in status.findings:
        tell("")
        printer.print(facts(_lines(finding)))
    tell("")
    printer.print(facts(_figures(status)))
    if status.pools:
        tell("")
        printer.print(table(printer, _HEADS, [_row(pool) for pool in status.pools]))


def _lines(finding: Finding) -> Iterator[tuple[str, Cell]]:
    yield finding.grade, finding.what
    yield "since", local(finding.since) if finding.since else "the beginning"
    yield "to do", finding.remedy


def _figures(status: SystemStatus) -> Iterator[tuple[str, Cell]]:
    yield "schedulers alive", str(status.schedulers)
    yield "partitions held", f"{status.partitions_held} of {PARTITIONS}"
    yield "oldest unclaimed due time", local(status.unclaimed_since)
    yield "jobs overdue", str(status.overdue)
    runs = status.runs
    counts = (
        (runs.waiting, "waiting"),
        (runs.queued, "queued"),
        (runs.running, "running"),
        (runs.retrying, "retrying"),
    )
    yield "runs", ", ".join(f"{_count(count)} {name}" for count, name in counts)
    yield "dead letters", _count(status.dead_letters)


def _row(pool: PoolStatus) -> tuple[Cell, ...]:
    return (
        pool.pool,
        str(pool.executors),
        _count(pool.queued),
        local(pool.queued_since),
        local(pool.heard_at),
    )


def _count(count: int) -> str:
    return f"{count}+" if count == COUNT_MAX else str(count)
