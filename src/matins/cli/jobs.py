"""`matins jobs`: look at jobs, stop them and let them go on, run them now."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer
from rich.text import Text

from matins.cli.connecting import Named, change, split_name, with_api
from matins.cli.inputs import Args, Body, Env, Headers, Key, read_input
from matins.cli.output_shows import OutputShow, exit_code_of, show_run
from matins.cli.showing import AsJson, local, print_json, tell
from matins.cli.tables import Cell, console, facts, state
from matins.cli.words import Reason, change_words
from matins.client.sdk import Matins
from matins.domain.executors.protocol import RunStatus
from matins.domain.jobs.spec import Job
from matins.domain.runs.admission.waiting import TO_BE_ADMITTED
from matins.domain.runs.states import RunState
from matins.domain.schedules.schedule import Override
from matins.domain.values.errors import ConflictError
from matins.domain.values.texts import clean
from matins.domain.views import Changed
from matins.kernel.documents import yaml_text

LOOK_AGAIN_S = 0.3
"""How often a run is looked at that is waited for."""

UNDECIDED_LOOKS = 7
"""So many looks at a triggered run no scheduler decides about, then it is told as it is."""

commands = typer.Typer()


@commands.command(epilog="Example: matins jobs show demo/every-minute")
def show(job: Named, as_json: AsJson = False) -> None:
    """Show a job as its owner wrote it, and where it stands."""

    async def work(client: Matins) -> Job:
        return await client.get_job(*split_name(job))

    view = with_api(work)
    if as_json:
        print_json(view)
        return
    pairs: list[tuple[str, Cell]] = [
        ("job", f"{view.team}/{view.spec.name}"),
        ("state", state(view.state)),
        ("overdue", Text(clean(view.overdue), "bold red") if view.overdue else ""),
        ("reason", view.reason),
        ("paused until", local(view.paused_until) if view.paused_until else ""),
        ("next due time", local(view.next_due_at)),
        ("next fire time", local(view.next_fire_at)),
        *[("override", override_line(override)) for override in view.overrides],
        ("revision", f"{view.revision} of {local(view.changed_at)}"),
        ("made", local(view.created_at)),
        ("id", str(view.id)),
    ]
    console().print(facts(pairs))
    tell("")
    tell(yaml_text(view.spec))


@commands.command(epilog='Example: matins jobs delete demo/every-minute --reason "moved away"')
def delete(
    job: Named,
    force: Annotated[
        bool, typer.Option("--force", help="Also while other jobs follow it; they wait in vain.")
    ] = False,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Delete a job. Runs that wait are cancelled, what runs goes on, and all stay listed.

    If other jobs follow it (after: {jobs: …}) you are asked first.
    """

    async def work(client: Matins) -> Changed:
        try:
            return await client.delete_job(*split_name(job), force=force, reason=reason)
        except ConflictError as error:
            if not sys.stdin.isatty() or not typer.confirm(f"{error}. Delete it all the same?"):
                raise
        return await client.delete_job(*split_name(job), force=True, reason=reason)

    change(work, change_words, as_json=as_json)


@commands.command(epilog="Example: matins jobs trigger demo/on-demand --env DAY=monday --wait")
def trigger(  # noqa: PLR0913 # an option each
    job: Named,
    *,
    args: Args = None,
    env: Env = None,
    headers: Headers = None,
    body: Body = None,
    key: Key = None,
    wait: Annotated[
        bool,
        typer.Option(
            "--wait", help="Show its output until its end, and end with its command's exit code."
        ),
    ] = False,
    allow_overlap: Annotated[
        bool,
        typer.Option("--allow-overlap", help="Start it whatever other runs of the job there are."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a job now, whatever its schedule says. Options change its target for this run alone.

    Its overlap policy decides about the run: exit code 1 if it is skipped. With --wait the exit
    code is 0 if it succeeds, else that of its command, or 1 if there is none.
    """
    run_input = read_input(args, env, headers, body)

    async def work(client: Matins) -> int:
        status = await client.trigger_job(
            *split_name(job), run_input, key=key, allow_overlap=allow_overlap
        )
        if wait:
            return await _wait(client, status, as_json=as_json)
        looks = UNDECIDED_LOOKS
        while looks and _is_undecided(status):
            await asyncio.sleep(LOOK_AGAIN_S)
            status = await client.get_run(status.id)
            looks -= 1
        _print(status, as_json=as_json)
        return int(status.state is RunState.SKIPPED)

    raise typer.Exit(with_api(work))


async def _wait(client: Matins, status: RunStatus, *, as_json: bool) -> int:
    """Show a run until its end; return the exit code that tells of it."""
    if not as_json:
        tell(f"{status.state}  {status.id}  {status.team}/{status.job}")
    end = await show_run(client, status.id, OutputShow(is_silent=as_json))
    _print(await client.get_run(status.id), as_json=as_json)
    return exit_code_of(end)


def _print(status: RunStatus, *, as_json: bool) -> None:
    if as_json:
        print_json(status)
    else:
        reason = f": {status.reason}" if status.reason else ""
        tell(f"{status.state}  {status.id}  {status.team}/{status.job}{reason}")


def _is_undecided(status: RunStatus) -> bool:
    """Return whether no scheduler has decided about a run yet, which takes some milliseconds."""
    return status.state is RunState.WAITING and status.reason.startswith(TO_BE_ADMITTED)


def override_line(override: Override) -> str:
    """Return what becomes of an occurrence that is skipped or moved."""
    what = f"moved to {local(override.move_to)}" if override.move_to else "skipped"
    return f"{local(override.due_at)}  {what}{': ' if override.reason else ''}{override.reason}"
