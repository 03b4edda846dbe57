"""`matins jobs preview|skip|move|restore`: what comes next of a job, and changing one of it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from matins.cli.connecting import Named, change, split_name, with_api
from matins.cli.jobs import override_line
from matins.cli.previews import print_preview
from matins.cli.showing import AsJson
from matins.client.sdk import Matins
from matins.domain.time.zones import find_zone
from matins.domain.values.errors import InvalidInputError
from matins.domain.views import Changed, Preview
from matins.kernel.clock import HostClock
from matins.kernel.moments import HELP, parse_moment

NEXT = "next"
LOOKED_AT = 200
"""How many due times are looked at for the next one that will run."""

TheDueTime = Annotated[
    str,
    typer.Argument(
        metavar="DUE", help="The due time, in the job's zone if without an offset; or next."
    ),
]
commands = typer.Typer()

Reason = Annotated[str, typer.Option(help="Why; the row of the due time says it.")]


@commands.command(epilog="Example: matins jobs preview demo/nightly -n 3")
def preview(
    job: Named,
    count: Annotated[int, typer.Option("-n", "--count", help="How many due times.")] = 10,
    after: Annotated[
        str | None, typer.Option(help=f"Begin after then, instead of now. {HELP}.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show when a job is due next, with its calendars and overrides, and what may surprise."""
    start = None if after is None else parse_moment("--after", after)
    team, name = split_name(job)
    view = with_api(lambda client: client.preview_job(team, name, count=count, after=start))
    begin = start or HostClock().now()
    print_preview(view, begin, is_now=start is None, as_json=as_json)


@commands.command(epilog='Example: matins jobs skip demo/nightly next --reason "release day"')
def skip(job: Named, due: TheDueTime, reason: Reason = "", as_json: AsJson = False) -> None:
    """Skip one occurrence of a job."""
    _override(job, due, None, reason, as_json=as_json)


@commands.command(epilog="Example: matins jobs move demo/nightly next --to 2027-01-02T03:00:00")
def move(
    job: Named,
    due: TheDueTime,
    to: Annotated[str, typer.Option(help=f"When it is to run instead. {HELP}.")],
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Move one occurrence of a job to another instant."""
    _override(job, due, to, reason, as_json=as_json)


@commands.command(epilog="Example: matins jobs restore demo/nightly 2026-12-24T02:00:00")
def restore(job: Named, due: TheDueTime, as_json: AsJson = False) -> None:
    """Undo the override of an occurrence: it runs at its due time after all."""
    team, name = split_name(job)

    async def work(client: Matins) -> Changed:
        if due == NEXT:
            overrides = (await client.get_job(team, name)).overrides
            if not overrides:
                raise InvalidInputError.at("DUE", "the job has no override")
            return await client.restore_occurrence(team, name, overrides[0].due_at)
        coming = await client.preview_job(team, name, count=1)
        return await client.restore_occurrence(team, name, _instant(coming, "DUE", due))

    change(work, _words, as_json=as_json)


def _override(job: str, due: str, to: str | None, reason: str, *, as_json: bool) -> None:
    team, name = split_name(job)

    async def work(client: Matins) -> Changed:
        coming = await client.preview_job(team, name, count=LOOKED_AT if due == NEXT else 1)
        due_at = _due_time(coming, due)
        if to is None:
            return await client.skip_occurrence(team, name, due_at, reason=reason)
        moved_to = parse_moment("--to", to, find_zone(coming.timezone), is_clear=True)
        return await client.move_occurrence(team, name, due_at, moved_to, reason=reason)

    change(work, _words, as_json=as_json)


def _due_time(coming: Preview, text: str) -> datetime:
    """Return a due time as it was typed; `next` is the first of those that come and will run."""
    if text != NEXT:
        return _instant(coming, "DUE", text)
    to_run = [due.utc for due in coming.due if not due.skipped]
    if not to_run:
        raise InvalidInputError.at("DUE", f"none of the next {LOOKED_AT} due times will run")
    return to_run[0]


def _instant(coming: Preview, where: str, text: str) -> datetime:
    """Return an instant as it was typed, in the job's zone."""
    return parse_moment(where, text, find_zone(coming.timezone))


def _words(answer: Changed) -> str:
    overrides = (f"\n  {override_line(override)}" for override in answer.job.overrides)
    return f"{answer.change}  {answer.job.team}/{answer.job.spec.name}{''.join(overrides)}"
