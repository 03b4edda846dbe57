"""`matins jobs history`, `diff` and `rollback`: what a job was, and making it so again."""

from __future__ import annotations

import difflib
from typing import Annotated

import typer

from matins.cli.connecting import Named, change, split_name, with_api
from matins.cli.showing import AsJson, local, print_json, tell
from matins.cli.tables import Cell, console, state, table
from matins.cli.words import DryRun, Reason, change_words
from matins.client.sdk import Matins
from matins.domain.views import RevisionPage, RevisionRecord
from matins.kernel.documents import yaml_text

UNKNOWN = "unknown"
"""Who made a change that was noted without an author, as by a version before."""

_HEADS = ("REV", "AT", "WHO", "STATE", "CHANGED", "WHY")
_STACKS = (("REV", "STATE"), ("AT", "WHO"), ("CHANGED", "WHY"))

commands = typer.Typer()

OfRevision = Annotated[int | None, typer.Argument(metavar="[REV]", help="A revision's number.")]


@commands.command(epilog="Example: matins jobs history payments/nightly-settlement")
def history(
    job: Named,
    before: Annotated[int | None, typer.Option(help="Only revisions before that one.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="The most revisions.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List what a job was, newest first: who changed it, when, why, and what."""

    async def work(client: Matins) -> RevisionPage:
        return await client.revisions_page(*split_name(job), before=before, limit=limit)

    page = with_api(work)
    if as_json:
        print_json(page)
        return
    printer = console()
    printer.print(table(printer, _HEADS, [_row(revision) for revision in page.revisions], _STACKS))
    if page.next is not None:
        tell(f"there are older ones: --before {page.next}")
    if page.kept_since is not None:
        tell(f"older ones are not kept: the history begins at {local(page.kept_since)}")


@commands.command(epilog="Example: matins jobs diff payments/nightly-settlement 3 5")
def diff(
    job: Named,
    older: OfRevision = None,
    newer: OfRevision = None,
    as_json: AsJson = False,
) -> None:
    """Show how two revisions of a job differ. By default the last two, or one and the last."""

    async def work(client: Matins) -> tuple[RevisionRecord, RevisionRecord]:
        name = split_name(job)
        last = newer or (await client.revisions_page(*name, limit=1)).revisions[0].revision
        first = last - 1 if older is None else older
        return await client.get_revision(*name, first), await client.get_revision(*name, last)

    first, last = with_api(work)
    lines = list(_lines(job, first, last))
    if as_json:
        print_json({"older": first, "newer": last, "diff": lines})
    elif lines:
        tell("\n".join(lines))
    else:
        message = f"revisions {first.revision} and {last.revision} have the same spec"
        tell(f"{message}; {last.revision} changed {', '.join(last.changes) or 'nothing else'}")


@commands.command(epilog='Example: matins jobs rollback demo/nightly 3 --reason "the url is wrong"')
def rollback(
    job: Named,
    revision: Annotated[int, typer.Argument(metavar="REV", help="A revision's number.")],
    reason: Reason = "",
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Make a job what it was by an earlier revision, as a new one. A paused job stays paused."""
    name = split_name(job)
    change(
        lambda client: client.roll_back_job(*name, revision, reason=reason, dry_run=dry_run),
        lambda answer: change_words(answer, dry_run=dry_run),
        as_json=as_json,
    )


def _row(record: RevisionRecord) -> tuple[Cell, ...]:
    changes = ", ".join(record.changes)
    return (
        str(record.revision),
        local(record.at),
        record.author or UNKNOWN,
        state(record.state),
        f"{changes} (unreadable: {record.fault})" if record.fault else changes,
        record.reason,
    )


def _lines(job: str, first: RevisionRecord, last: RevisionRecord) -> list[str]:
    """Return the unified diff of two specs, as YAML."""
    name, other = (
        f"{job} revision {record.revision} of {local(record.at)} by {record.author or UNKNOWN}"
        for record in (first, last)
    )
    older, newer = (
        [] if record.spec is None else yaml_text(record.spec).splitlines()
        for record in (first, last)
    )
    return list(difflib.unified_diff(older, newer, name, other, lineterm=""))
