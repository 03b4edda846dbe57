"""`matins logs`: what a run wrote, or writes."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from matins.cli.connecting import with_api
from matins.cli.output_shows import OutputShow, print_events, show_run
from matins.cli.run_names import Failed, TheRun, find_run
from matins.cli.showing import AsJson, print_json, show_text, tell_aside
from matins.client.sdk import Matins
from matins.domain.executors.protocol import RunStatus
from matins.domain.runs.output import LINES_MAX
from matins.domain.runs.states import FINAL

commands = typer.Typer()


class Log(msgspec.Struct, frozen=True):
    """The output of an attempt, as `logs --json` prints it."""

    run: RunStatus
    attempt: int
    output: str


@commands.command(epilog="Example: matins logs demo/flaky -f")
def logs(  # a command's options
    run: TheRun,
    *,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the run has ended; Ctrl-C ends it.")
    ] = False,
    attempt: Annotated[
        int | None, typer.Option(min=1, help="Of this attempt; without it of the last one.")
    ] = None,
    tail: Annotated[
        int | None,
        typer.Option(min=1, max=LINES_MAX, help="Only so many of the last lines there are."),
    ] = None,
    failed: Failed = False,
    as_json: AsJson = False,
) -> None:
    """Print what a run wrote, or has written so far. With -f and --json, a line for each event.

    Only output goes to standard output; what becomes of the run is told on standard error.
    """

    async def work(client: Matins) -> None:
        run_id = await find_run(client, run, failed=failed)
        status = await client.get_run(run_id)
        if follow and as_json:
            await print_events(client, run_id, attempt=attempt)
        elif follow and not (tail and status.state in FINAL):
            await show_run(client, run_id, OutputShow(tail), attempt=attempt)
        else:
            output = await client.get_run_output(run_id, attempt=attempt, tail=tail)
            _print(Log(status, attempt or status.attempt, output), as_json=as_json)

    with_api(work)


def _print(log: Log, *, as_json: bool) -> None:
    if as_json:
        print_json(log)
        return
    show_text(log.output)
    if log.output:
        if not log.output.endswith("\n"):
            show_text("\n")
        return
    reason = f": {log.run.reason}" if log.run.reason else ""
    tell_aside(f"matins: no output; the run is {log.run.state}{reason}")
