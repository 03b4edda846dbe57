"""What changes of jobs have in common on the command line: options, and how they are told."""

from __future__ import annotations

from typing import Annotated

import typer

from matins.cli.showing import local
from matins.domain.views import Changed
from matins.insight.explain.english import counted

Reason = Annotated[str, typer.Option("--reason", help="Why; it stands in the job's history.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Tell what would change, store nothing.")]


def change_words(answer: Changed, *, dry_run: bool = False) -> str:
    """Return what became of a job, or would."""
    is_only_told = dry_run and answer.change != "unchanged"
    line = f"{'would be ' if is_only_told else ''}{answer.change}"
    line += f"  {answer.job.team}/{answer.job.spec.name}"
    if answer.job.paused_until is not None:
        line += f"  until {local(answer.job.paused_until)}"
    if answer.skipped or answer.queued:
        line += f"  due times that had passed: {answer.skipped} skipped, {answer.queued} queued"
    if answer.cancelled:
        line += f"  ({counted(answer.cancelled, 'run')} waited and will not run)"
    return line
