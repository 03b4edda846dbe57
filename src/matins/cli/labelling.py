"""`matins jobs label`: one job, or all that a team and labels select."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import typer

from matins.cli.connecting import change, split_name
from matins.cli.inputs import read_pairs
from matins.cli.selecting import OfLabels, OfTeam, selected_by, selection_words, tell_part
from matins.cli.showing import AsJson
from matins.cli.words import DryRun, Reason
from matins.client.sdk import Matins
from matins.domain.jobs.selecting import SelectionChanged
from matins.domain.values.errors import InvalidInputError
from matins.domain.views import Changed

commands = typer.Typer()

Words = Annotated[
    list[str],
    typer.Argument(
        metavar="[TEAM/NAME] NAME=VALUE|NAME- ...",
        help="Labels to add, as NAME=VALUE, and to drop, as NAME-. Of one job, its name first.",
    ),
]


class Labelling(NamedTuple):
    """What is typed, read: of which job, if it is one, and its labels to add and to drop."""

    job: str | None
    add: dict[str, str]
    drop: list[str]


@commands.command(
    epilog="Example: matins jobs label --team payments --label tier=gold owner=ledger season-"
)
def label(
    words: Words,
    *,
    team: OfTeam = None,
    labels: OfLabels = None,
    reason: Reason = "",
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Add labels to a job and drop others, or to all jobs that a team and labels select.

    A job that has the label already gets the new value. Nothing runs because of it.
    """
    wanted = read_labelling(words)
    selected = selected_by(wanted.job, team, labels)

    async def work(client: Matins) -> Changed | SelectionChanged:
        if isinstance(selected, str):
            return await client.relabel_job(
                *split_name(selected), wanted.add, wanted.drop, reason=reason, dry_run=dry_run
            )
        return await client.relabel_jobs(
            *selected, wanted.add, wanted.drop, reason=reason, dry_run=dry_run, on_part=tell_part
        )

    change(work, selection_words(dry_run=dry_run), as_json=as_json)


def read_labelling(words: Sequence[str]) -> Labelling:
    """Read what is typed. Raises InvalidInputError."""
    job = words[0] if words and "=" not in words[0] and not words[0].endswith("-") else None
    changes = words if job is None else words[1:]
    if not changes:
        raise InvalidInputError.at("", "name a label to add, as NAME=VALUE, or to drop, as NAME-")
    added = [word for word in changes if not word.endswith("-") or "=" in word]
    dropped = [word.removesuffix("-") for word in changes if word.endswith("-") and "=" not in word]
    return Labelling(job, read_pairs("label", added), dropped)
