"""`matins explain`: why did it run, why not, or why not yet?"""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import typer

from matins.cli.connecting import split_name, with_api
from matins.cli.moments import HELP, parse_moment
from matins.cli.showing import AsJson, local, print_json, tell
from matins.cli.tables import Cell, console, state, table
from matins.client.sdk import Matins
from matins.domain.time.zones import Zone, find_zone
from matins.domain.values.errors import InvalidInputError, NotFoundError
from matins.insight.why.explanation import Explanation

commands = typer.Typer()


@commands.command(epilog="Example: matins explain payments/nightly --at 02:00")
def explain(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="JOB|RUN", help="TEAM/NAME, NAME alone in team default, or a run's id."
        ),
    ],
    at: Annotated[
        str | None,
        typer.Option(
            help=f"A due time of the job, in its zone if without an offset. {HELP}."
            " Without it, the last one."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Tell why a run did, did not, or does not yet happen: what is recorded of it step by step, and
    what to do. Of an instant at which a job was not due it names the nearest due times.
    """
    run = _run_id(subject)
    if run is not None and at is not None:
        raise InvalidInputError.at("--at", "is for a job; a run has its due time")

    async def work(client: Matins) -> Explanation:
        if run is not None:
            return await client.explain_run(run)
        team, name = split_name(subject)
        instant = None if at is None else parse_moment("--at", at, await _zone(client, team, name))
        return await client.explain_job(team, name, at=instant)

    explanation = with_api(work)
    if as_json:
        print_json(explanation)
    else:
        show(explanation)


def _run_id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


async def _zone(client: Matins, team: str, name: str) -> Zone | None:
    """Return the zone of a job's schedule; None: this host's."""
    try:
        schedule = (await client.get_job(team, name)).spec.schedule
    except NotFoundError:  # it may have been deleted, and is still explained
        return None
    return None if schedule is None else find_zone(schedule.timezone)


def show(explanation: Explanation) -> None:
    """Print an explanation for people."""
    printer = console()
    heading = state(explanation.state)
    heading.append(f"  {explanation.team}/{explanation.job}", style="bold")
    if explanation.due_at is not None:
        heading.append(f"  due {local(explanation.due_at)}")
    if explanation.run is not None:
        heading.append(f"  run {explanation.run}")
    printer.print(heading)
    rows: list[tuple[Cell, ...]] = [
        (local(step.at), step.step, step.text) for step in explanation.steps
    ]
    if rows:
        printer.print(table(printer, ("AT", "STEP", ""), rows))
    tell(f"so: {explanation.so}")
