"""`matins runs`: look at runs, watch them, cancel them, try them again now or no more."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

import msgspec
import typer
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from matins.cli.connecting import change, split_name, with_api
from matins.cli.failing import failure_pairs, find_failure
from matins.cli.outlooks import find_outlook, outlook_pairs
from matins.cli.run_names import Failed, TheRun, find_run
from matins.cli.showing import AsJson, between, local, print_json, print_json_line, tell
from matins.cli.tables import Cell, console, facts, state, table
from matins.client.sdk import Matins
from matins.domain.executors.protocol import RunStatus
from matins.domain.runs.dead import RunFailure
from matins.domain.runs.inputs import NOTHING_GIVEN, GivenInput
from matins.domain.runs.outlook import Outlook
from matins.domain.runs.states import RunState
from matins.domain.values.errors import UnavailableError
from matins.domain.values.texts import clean
from matins.domain.views import AttemptRecord, Run, RunPage
from matins.kernel.clock import HostClock
from matins.kernel.documents import yaml_text
from matins.kernel.moments import HELP, parse_moment

REFRESH_S = 1.0
"""How often a watched table is refreshed."""

PAGE = 500
LOOK_PAGES = 20
"""Of one job's runs, how many are looked through for those in a state."""

commands = typer.Typer()

OfJob = Annotated[str | None, typer.Argument(metavar="[TEAM/NAME]", help="Only this job's runs.")]
OfTeam = Annotated[str | None, typer.Option(help="Only runs of this team's jobs.")]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="The most runs.")]

_STACKS = (
    ("JOB", "RUN", "REASON"),
    ("STATE", "KIND", "TRY"),
    ("DUE TIME", "LAG", "TOOK"),
)
_HEADS = ("RUN", "JOB", "KIND", "STATE", "TRY", "DUE TIME", "FIRE TIME", "LAG", "TOOK", "REASON")


class RunView(msgspec.Struct, frozen=True):
    """A run with its attempts, input, outlook and failure, as `runs show --json` prints it."""

    run: RunStatus
    attempts: list[AttemptRecord]
    input: GivenInput = NOTHING_GIVEN
    outlook: Outlook | None = None
    failure: RunFailure | None = None


class RunQuery(msgspec.Struct, frozen=True):
    """Which runs are asked for."""

    job: str | None = None
    team: str | None = None
    state: RunState | None = None
    since: datetime | None = None
    limit: int = 20

    async def read(self, client: Matins) -> list[Run]:
        """Return the newest of them; of one job's runs in a state those among its last few
        thousand.
        """
        runs: list[Run] = []
        before: UUID | None = None
        for _ in range(LOOK_PAGES):
            page = await self._page(client, before)
            runs += [run for run in page.runs if self._takes(run)]
            before = page.next
            if before is None or len(runs) >= self.limit:
                break
        return runs[: self.limit]

    async def _page(self, client: Matins, before: UUID | None) -> RunPage:
        if self.job is not None:
            team, name = split_name(self.job)
            limit = PAGE if self.state or self.since else self.limit
            return await client.job_runs_page(team, name, before=before, limit=limit)
        return await client.runs_page(
            team=self.team, state=self.state, since=self.since, before=before, limit=self.limit
        )

    def _takes(self, run: Run) -> bool:
        is_late_enough = self.since is None or run.due_at >= self.since
        return is_late_enough and self.state in (None, run.state)


@commands.command("list", epilog="Example: matins runs list demo/broken --state dead")
def list_runs(
    job: OfJob = None,
    team: OfTeam = None,
    of_state: Annotated[
        RunState | None, typer.Option("--state", help="Only runs in this state.")
    ] = None,
    since: Annotated[str | None, typer.Option(help=f"Only due times since then. {HELP}.")] = None,
    limit: Limit = 20,
    as_json: AsJson = False,
) -> None:
    """List runs, newest due time first; of all jobs, those of the last week."""
    begin = None if since is None else parse_moment("--since", since)
    query = RunQuery(job, team, of_state, begin, limit)
    runs = with_api(query.read)
    if as_json:
        print_json(runs)
    else:
        _print_table(runs)


@commands.command(epilog="Example: matins runs show demo/flaky@2026-11-30T02:00")
def show(run: TheRun, failed: Failed = False, as_json: AsJson = False) -> None:
    """Show a run with its attempts and what they wrote."""

    async def work(client: Matins) -> RunView:
        status = await client.get_run(await find_run(client, run, failed=failed))
        run_input = await client.get_run_input(status.id)
        outlook = await find_outlook(client, status)
        failure = await find_failure(client, status)
        return RunView(status, await client.list_attempts(status.id), run_input, outlook, failure)

    view = with_api(work)
    if as_json:
        print_json(view)
        return
    console().print(_details(view.run, view.outlook))
    if view.failure is not None:
        console().print("\nwhy it failed", style="bold")
        console().print(facts(failure_pairs(view.failure)))
    if view.input != NOTHING_GIVEN:
        console().print("\ninput", style="bold")
        tell(yaml_text(view.input))
    show_attempts(view.attempts)


@commands.command(epilog="Example: matins runs watch --team demo")
def watch(
    job: OfJob = None,
    team: OfTeam = None,
    limit: Limit = 20,
    once: Annotated[bool, typer.Option("--once", help="Print the table once.")] = False,
    as_json: AsJson = False,
) -> None:
    """Watch the newest runs live; Ctrl-C ends it. With --json, a line for each change."""
    query = RunQuery(job, team, limit=limit)

    async def work(client: Matins) -> None:
        if once:
            _print(await query.read(client), as_json=as_json)
        elif as_json:
            await _watch_changes(client, query)
        else:
            await _watch_table(client, query)

    with contextlib.suppress(KeyboardInterrupt):
        with_api(work)


@commands.command(epilog="Example: matins runs cancel demo/on-demand")
def cancel(run: TheRun, as_json: AsJson = False) -> None:
    """End a run: at once while it waits, within a heartbeat of its executor while it runs."""

    async def work(client: Matins) -> RunStatus:
        return await client.cancel_run(await find_run(client, run))

    status = with_api(work)
    if as_json:
        print_json(status)
    else:
        still = "" if status.state is RunState.CANCELLED else "; its executor is told to stop it"
        tell(f"{standing(status)}{still}")


@commands.command(epilog="Example: matins runs retry demo/flaky")
def retry(run: TheRun, as_json: AsJson = False) -> None:
    """Make the next attempt of a run now that is to be tried again."""

    async def work(client: Matins) -> RunStatus:
        return await client.retry_run(await find_run(client, run))

    change(work, standing, as_json=as_json)


@commands.command(
    "stop-retrying",
    epilog="Example: matins runs stop-retrying 019ae1f6-1b28-8a3c",
)
def stop_retrying(
    run: TheRun,
    reason: Annotated[str, typer.Option(help="Why, for its dead letter.")] = "",
    as_json: AsJson = False,
) -> None:
    """End a run that is to be tried again: it is dead, and can be replayed."""

    async def work(client: Matins) -> RunStatus:
        return await client.stop_retrying_run(await find_run(client, run), reason=reason)

    change(work, standing, as_json=as_json)


def standing(status: RunStatus) -> str:
    """Return how a run stands, in a line."""
    return f"{status.state}  {status.id}  {status.team}/{status.job}"


def _print(runs: list[Run], *, as_json: bool) -> None:
    if as_json:
        for run in runs:
            print_json_line(run)
    else:
        _print_table(runs)


async def _watch_table(client: Matins, query: RunQuery) -> None:
    """Refresh until Ctrl-C. An API that goes away is waited for."""
    runs = await query.read(client)
    printer = console()
    with Live(console=printer, auto_refresh=False) as live:
        fault = ""
        while True:
            now = local(HostClock().now())
            line = Text(fault or f"{now}  (Ctrl-C ends it)", "red" if fault else "dim")
            live.update(Group(line, runs_table(printer, runs)), refresh=True)
            await asyncio.sleep(REFRESH_S)
            try:
                runs, fault = await query.read(client), ""
            except UnavailableError as error:
                fault = clean(f"{error}; trying again")


async def _watch_changes(client: Matins, query: RunQuery) -> None:
    seen: dict[UUID, Run] = {}
    while True:
        newest = {run.id: run for run in await query.read(client)}
        for run in reversed(newest.values()):
            if seen.get(run.id) != run:
                print_json_line(run)
        seen = newest
        await asyncio.sleep(REFRESH_S)


def _print_table(runs: list[Run]) -> None:
    printer = console()
    printer.print(runs_table(printer, runs))


def runs_table(printer: Console, runs: list[Run]) -> Table:
    """Return runs as a table, stacked where it is too wide."""
    return table(printer, _HEADS, [_row(run) for run in runs], _STACKS)


def _row(run: Run) -> tuple[Cell, ...]:
    reason = run.reason
    if run.state is RunState.RETRYING and run.retry_at is not None:
        reason = f"next attempt {local(run.retry_at)}; {reason}"
    if run.due_until is not None:
        reason += f" ({run.due_count} due times until {local(run.due_until)})"
    return (
        str(run.id),
        f"{run.team}/{run.job}",
        run.kind,
        state(run.state),
        str(run.attempt),
        local(run.due_at),
        f"{run.fire_at.astimezone():%H:%M:%S}",
        between(run.due_at, run.started_at),
        between(run.started_at, run.finished_at),
        reason,
    )


def _details(run: RunStatus, outlook: Outlook | None) -> Table:
    pairs: list[tuple[str, Cell]] = [
        ("run", str(run.id)),
        ("job", f"{run.team}/{run.job}"),
        ("kind", run.kind),
        ("state", state(run.state)),
        ("reason", run.reason),
        ("attempt", str(run.attempt)),
        ("due time", local(run.due_at)),
        ("fire time", local(run.fire_at)),
    ]
    instants = (
        ("claimed", run.claimed_at),
        ("started", run.started_at),
        ("next attempt", run.retry_at),
        ("finished", run.finished_at),
    )
    pairs += [(name, local(instant)) for name, instant in instants if instant]
    pairs += outlook_pairs(outlook) if outlook else []
    return facts(pairs)


def show_attempts(attempts: Sequence[AttemptRecord]) -> None:
    """Print the attempts of a run, with what they wrote."""
    for attempt in attempts:
        _show_attempt(attempt)


def _show_attempt(attempt: AttemptRecord) -> None:
    outcome = [state(attempt.outcome or "running")]
    if attempt.http_status is not None:
        outcome.append(Text(f"HTTP {attempt.http_status}"))
    if attempt.exit_code is not None:
        outcome.append(Text(f"exit code {attempt.exit_code}"))
    pairs: list[tuple[str, Cell]] = [
        ("outcome", Text(", ").join(outcome)),
        ("reason", attempt.reason),
        ("executor", attempt.executor),
        ("started", local(attempt.started_at)),
        ("took", between(attempt.started_at, attempt.finished_at)),
    ]
    pairs += [(f"set {key}", value) for key, value in attempt.results.items()]
    printer = console()
    printer.print(f"\nattempt {attempt.number}", style="bold")
    printer.print(facts(pairs))
    if attempt.output:
        cut = f", {attempt.output_cut} bytes left out" if attempt.output_cut else ""
        printer.print(f"output{cut}:", style="bold")
        tell(attempt.output.rstrip("\n"))
