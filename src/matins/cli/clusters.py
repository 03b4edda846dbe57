"""`matins cluster`."""

from __future__ import annotations

import typer

from matins.cli.connecting import with_api
from matins.cli.showing import AsJson, local, print_json, tell
from matins.cli.tables import Cell, console, state, table
from matins.client.sdk import Matins
from matins.domain.runs.cluster import Cluster, SchedulerRecord

_HEADS = (
    *("NAME", "ID", "VERSION", "STATE", "SINCE", "PARTITIONS", "EPOCHS", "LEASE AGE"),
    *("WHEEL", "CLOCK", "LAG", "WATERMARK"),
)
_STACKS = (
    ("NAME", "ID", "VERSION"),
    ("STATE", "SINCE", "LEASE AGE"),
    ("PARTITIONS", "EPOCHS", "WHEEL"),
    ("CLOCK", "LAG", "WATERMARK"),
)

commands = typer.Typer()


@commands.command("cluster", epilog="Example: matins cluster --json")
def show_cluster(as_json: AsJson = False) -> None:
    """Show the schedulers, and the partitions that none of them holds.

    The exit code is 1 where a partition has no holder: its jobs don't fire.
    """

    async def work(client: Matins) -> Cluster:
        return await client.get_cluster()

    cluster = with_api(work)
    if as_json:
        print_json(cluster)
    else:
        printer = console()
        printer.print(
            table(printer, _HEADS, [_row(scheduler) for scheduler in cluster.schedulers], _STACKS)
        )
        if count := len(cluster.without_holder):
            tell(f"{count} partitions have no holder: jobs in them don't fire")
    if (restore := cluster.restore) is not None and not as_json:
        tell(
            f"the database was restored: what was due from {local(restore.lost_since)} to"
            f" {local(restore.seen_until)} may have run; matins resume-after-restore decides"
        )
    if cluster.without_holder:
        raise typer.Exit(1)


def _row(scheduler: SchedulerRecord) -> tuple[Cell, ...]:
    return (
        scheduler.name,
        str(scheduler.id),
        scheduler.version,
        state(scheduler.state),
        local(scheduler.since),
        str(len(scheduler.partitions)),
        _between(scheduler.min_epoch, scheduler.max_epoch),
        f"{scheduler.lease_age_s:.1f} s",
        _told(scheduler.wheel_size, ""),
        _told(scheduler.clock_offset_s, "+.3f", " s"),
        _told(scheduler.lag_s, ".3f", " s"),
        local(scheduler.watermark),
    )


def _between(least: int | None, most: int | None) -> str:
    return "-" if least is None else str(least) if least == most else f"{least} to {most}"


def _told(figure: float | None, form: str, unit: str = "") -> str:
    return "-" if figure is None else f"{figure:{form}}{unit}"
