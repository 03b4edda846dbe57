"""One job, or all that a team and labels select: how commands take them, and what they tell."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from matins.cli.inputs import read_pairs
from matins.cli.showing import tell_aside
from matins.cli.words import change_words
from matins.domain.jobs.selecting import SelectionChanged
from matins.domain.values.errors import InvalidInputError
from matins.domain.views import Changed
from matins.insight.explain.english import counted

OneJob = Annotated[
    str | None, typer.Argument(metavar="[TEAM/NAME]", help="NAME alone is in team default.")
]
OfTeam = Annotated[str | None, typer.Option("--team", help="All jobs of this team instead.")]
OfLabels = Annotated[
    list[str] | None,
    typer.Option("--label", metavar="NAME=VALUE", help="With --team: only jobs with this label."),
]


def selected_by(
    job: str | None, team: str | None, labels: Sequence[str] | None
) -> str | tuple[str, dict[str, str]]:
    """Return which job is meant, or of which team those with which labels."""
    if (job is None) == (team is None):
        raise InvalidInputError.at("", "name either one job, as TEAM/NAME, or a --team")
    if job is not None:
        if labels:
            raise InvalidInputError.at("--label", "goes with --team, and not with one job")
        return job
    return str(team), read_pairs("--label", labels or ())


def tell_part(done: SelectionChanged) -> None:
    """Tell somebody at a terminal how far it is."""
    if sys.stderr.isatty():
        tell_aside(f"{counted(len(done.jobs), 'job')} so far …")


def selection_words(*, dry_run: bool) -> Callable[[Changed | SelectionChanged], str]:
    """Return what tells of one job, or of many, what became of it."""

    def words(answer: Changed | SelectionChanged) -> str:
        if isinstance(answer, Changed):
            return change_words(answer, dry_run=dry_run)
        lines = [
            f"{outcome.change:<9}  {outcome.job}{': ' if outcome.reason else ''}{outcome.reason}"
            for outcome in answer.jobs
        ]
        would = "would be " if dry_run else ""
        summary = f"{answer.changed} of {counted(len(answer.jobs), 'job')} {would}changed"
        if answer.skipped or answer.queued:
            summary += (
                f"; due times that had passed: {answer.skipped} skipped, {answer.queued} queued"
            )
        return "\n".join([*lines, summary])

    return words
