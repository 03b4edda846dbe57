"""`matins executors`."""

from __future__ import annotations

import typer

from matins.cli.connecting import with_api
from matins.cli.showing import AsJson, local, print_json
from matins.cli.tables import console, state, table
from matins.client.sdk import Matins
from matins.domain.views import ExecutorRecord

_HEADS = ("NAME", "ID", "STATE", "POOLS", "BUSY", "HEARTBEAT")
_STACKS = (("NAME", "ID"), ("STATE", "BUSY"), ("HEARTBEAT", "POOLS"))

commands = typer.Typer()


@commands.command("list", epilog="Example: matins executors list --json")
def list_executors(as_json: AsJson = False) -> None:
    """List executors alive, and those that ended within a day."""

    async def work(client: Matins) -> list[ExecutorRecord]:
        return await client.list_executors()

    executors = with_api(work)
    if as_json:
        print_json(executors)
        return
    rows = [
        (
            executor.name,
            str(executor.id),
            state(executor.state),
            ",".join(executor.pools),
            f"{executor.running}/{executor.slots}",
            local(executor.heartbeat_at),
        )
        for executor in executors
    ]
    printer = console()
    printer.print(table(printer, _HEADS, rows, _STACKS))
