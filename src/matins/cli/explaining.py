"""`matins explain`: why did it run, why not, or why not yet?"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

import typer

from matins.cli.connecting import with_api
from matins.cli.run_names import Failed, find_run
from matins.cli.showing import AsJson, local, print_json, tell
from matins.cli.tables import Cell, console, state, table
from matins.client.sdk import Matins
from matins.domain.runs.naming import OfJob, parse_run_name
from matins.domain.time.zones import Zone, find_zone
from matins.domain.values.errors import InvalidInputError, NotFoundError
from matins.insight.why.explanation import Explanation
from matins.kernel.moments import HELP, parse_moment

commands = typer.Typer()


@commands.command(epilog="Example: matins explain payments/nightly --at 02:00")
def explain(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="JOB|RUN",
            help="TEAM/NAME, NAME alone in team default, TEAM/NAME@2026-11-30T02:00 for a due time"
            " of it, a run's id, or how that begins.",
        ),
    ],
    at: Annotated[
        str | None,
        typer.Option(
            help=f"A due time of the job, in its zone if without an offset. {HELP}."
            " Without it, the last one."
        ),
    ] = None,
    failed: Failed = False,
    as_json: AsJson = False,
) -> None:
    """Tell why a run did, did not, or does not yet happen: what is recorded of it step by step, and
    what to do. Of an instant at which a job was not due it names the nearest due times.
    """
    name = parse_run_name(subject)
    if at is not None and (failed or not isinstance(name, OfJob) or name.at):
        raise InvalidInputError.at("--at", "is for a job; a run has its due time")

    async def work(client: Matins) -> Explanation:
        if failed or not isinstance(name, OfJob):
            return await client.explain_run(await find_run(client, subject, failed=failed))
        moment = at or name.at
        if not moment:
            return await client.explain_job(name.team, name.name)
        instant = parse_moment("--at", moment, await _zone(client, name.team, name.name))
        run = await _run_due(client, subject, instant) if name.at else None
        if run is not None:
            return await client.explain_run(run)
        return await client.explain_job(name.team, name.name, at=instant)

    explanation = with_api(work)
    if as_json:
        print_json(explanation)
    else:
        show(explanation)


async def _run_due(client: Matins, name: str, instant: datetime) -> UUID | None:
    """Return the run that is named by its due time, unless its row only stands for that."""
    try:
        run = await client.find_run(name)
    except NotFoundError:  # why there is none is explained, too
        return None
    return run.id if run.due_at >= instant else None


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
