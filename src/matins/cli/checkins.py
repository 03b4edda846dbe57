"""`matins checkins`: jobs that something else runs, and that call a URL."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from matins.cli.connecting import Named, change, split_name, with_api
from matins.cli.showing import AsJson, local, print_json, tell
from matins.cli.tables import Cell, console, table
from matins.client.sdk import Matins
from matins.domain.alerts.checkins import CheckinRecord, CheckinToken
from matins.domain.jobs.alerting import AlertRule
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import CheckinTarget, Target
from matins.domain.values.errors import ConflictError, NotFoundError
from matins.domain.values.names import DEFAULT_TEAM
from matins.domain.views import Changed
from matins.engines.endpoints import Endpoints
from matins.kernel.settings import read_settings

_HEADS = ("CHECK-IN", "RUNS SINCE", "LAST END", "STATE", "TOKEN SINCE")

commands = typer.Typer()


@commands.command("list", epilog="Example: matins checkins list --team ops")
def list_checkins(
    team: Annotated[str, typer.Option(help="Whose check-ins.")] = DEFAULT_TEAM,
    as_json: AsJson = False,
) -> None:
    """List a team's check-ins, and what was told of them last."""
    records = with_api(lambda client: client.list_checkins(team))
    if as_json:
        print_json(records)
        return
    printer = console()
    printer.print(table(printer, _HEADS, [_row(record) for record in records]))


@commands.command(epilog="Example: matins checkins show ops/backup")
def show(checkin: Named, as_json: AsJson = False) -> None:
    """Show a check-in, and what was told of it last."""
    team, name = split_name(checkin)
    record = with_api(lambda client: client.get_checkin(team, name))
    if as_json:
        print_json(record)
        return
    printer = console()
    printer.print(table(printer, _HEADS, [_row(record)]))
    tell(f"its runs: matins runs list {team}/{name}")
    tell(f"its alerts: matins alerts show {team}/{name}")


@commands.command(epilog="Example: matins checkins add ops/backup --within 26h --over 2h")
def add(
    checkin: Named,
    within: Annotated[
        str, typer.Option(help="It is bad when no success was told for so long, such as 26h.")
    ],
    over: Annotated[
        str | None, typer.Option(help="It is bad when a run takes so long, such as 2h.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Watch a job that something else runs. The URL that it has to call is shown this once.

    It is a job like others, with the target {checkin: {}}: a job file can say more of it.
    """
    team, name = split_name(checkin)
    alerts = [AlertRule("did_not_run", within=within)]
    if over is not None:
        alerts.append(AlertRule("too_slow", over=over))
    spec = JobSpec(name, Target(checkin=CheckinTarget()), alerts=alerts)

    async def work(client: Matins) -> CheckinToken:
        await _check_new(client, team, name)
        await client.put_job(team, spec)
        return await client.rotate_checkin(team, name)

    change(work, partial(_words, "created"), as_json=as_json)


@commands.command(epilog="Example: matins checkins rotate ops/backup")
def rotate(checkin: Named, as_json: AsJson = False) -> None:
    """Give a check-in a new token. The one before is of no use from now on."""
    team, name = split_name(checkin)
    words = partial(_words, "rotated")
    change(lambda client: client.rotate_checkin(team, name), words, as_json=as_json)


@commands.command(epilog="Example: matins checkins remove ops/backup")
def remove(checkin: Named, as_json: AsJson = False) -> None:
    """Delete a check-in. Its token is of no use from now on; its runs stay listed."""
    team, name = split_name(checkin)

    async def work(client: Matins) -> Changed:
        await client.get_checkin(team, name)
        return await client.delete_job(team, name)

    change(work, lambda _: f"deleted  {team}/{name}", as_json=as_json)


async def _check_new(client: Matins, team: str, name: str) -> None:
    try:
        await client.get_job(team, name)
    except NotFoundError:
        return
    raise ConflictError(
        f"team {team} has a job {name!r}; for a new token: matins checkins rotate {team}/{name}"
    )


def _row(record: CheckinRecord) -> tuple[Cell, ...]:
    return (
        f"{record.team}/{record.name}",
        local(record.started_at),
        local(record.ended_at),
        record.state,
        local(record.made_at),
    )


def _words(done: str, token: CheckinToken) -> str:
    url = Endpoints(read_settings()).api_url().split(",")[0].rstrip("/") + token.path
    call = "curl -fsS -m 10 --retry 5 -o /dev/null"
    return (
        f"{done}  {token.team}/{token.name}\n"
        f"url: {url}  (it is shown this once)\n"
        f"crontab: 0 3 * * *  {call} {url}/start; COMMAND; {call} {url}/$?"
    )
