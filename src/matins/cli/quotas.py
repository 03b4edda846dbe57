"""`matins quotas`: what a team may have at most."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from matins.cli.connecting import with_api
from matins.cli.showing import AsJson, print_json, tell
from matins.cli.tables import Cell, console, table
from matins.client.sdk import Matins
from matins.domain.jobs.limit_views import QuotasChanged, QuotasRecord
from matins.domain.jobs.limits import Quotas
from matins.domain.values.errors import InvalidInputError, NotFoundError
from matins.domain.values.names import DEFAULT_TEAM

_HEADS = ("QUOTA", "USED", "LIMIT", "SET BY")
_NAMES = ("max_jobs", "max_running", "starts_per_minute")
_RULE = "a number, or default for what the operator lets teams have"

Team = Annotated[str, typer.Argument(metavar="TEAM", help="Whose quotas.")]

commands = typer.Typer()


@commands.command(epilog="Example: matins quotas show payments")
def show(team: Team = DEFAULT_TEAM, as_json: AsJson = False) -> None:
    """Show the quotas of a team beside their use."""
    quotas = with_api(lambda client: client.get_quotas(team))
    if as_json:
        print_json(quotas)
        return
    printer = console()
    printer.print(table(printer, _HEADS, [_row(quotas, name) for name in _NAMES]))


@commands.command("set", epilog="Example: matins quotas set payments --max-running 50")
def set_quotas(
    team: Team = DEFAULT_TEAM,
    max_jobs: Annotated[str | None, typer.Option(help=f"Jobs: {_RULE}.")] = None,
    max_running: Annotated[str | None, typer.Option(help=f"Runs at once: {_RULE}.")] = None,
    starts_per_minute: Annotated[str | None, typer.Option(help=f"Starts: {_RULE}.")] = None,
    as_json: AsJson = False,
) -> None:
    """Change quotas of a team; those that are not given stay as they are."""
    limits = dict(zip(_NAMES, (max_jobs, max_running, starts_per_minute), strict=True))
    changes = {name: _read(name, text) for name, text in limits.items() if text is not None}

    async def put(client: Matins) -> QuotasChanged:
        try:
            quotas = _set_quotas(await client.get_quotas(team))
        except NotFoundError:
            quotas = Quotas()
        return await client.put_quotas(team, msgspec.structs.replace(quotas, **changes))

    answer = with_api(put)
    if as_json:
        print_json(answer)
    else:
        tell(f"{answer.change}  {team}")


def _set_quotas(record: QuotasRecord) -> Quotas:
    """Return what is set for a team, without the defaults."""
    quotas = {name: getattr(record, name) for name in _NAMES}
    return Quotas(**{name: quota.limit for name, quota in quotas.items() if not quota.is_default})


def _read(name: str, text: str) -> int | None:
    if text == "default":
        return None
    if not text.isdecimal():
        option = "--" + name.replace("_", "-")
        raise InvalidInputError.at(option, f"{text[:40]!r} is not right; write {_RULE}")
    return int(text)


def _row(record: QuotasRecord, name: str) -> tuple[Cell, ...]:
    quota = getattr(record, name)
    used = "-" if quota.used is None else str(quota.used)
    if quota.limit is None:
        return name, used, "-", "nobody"
    return name, used, str(quota.limit), "default" if quota.is_default else "team"
