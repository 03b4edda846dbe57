"""Runs as people name them on the command line, read alike by every command that takes one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated
from uuid import UUID

import typer

from matins.client.sdk import Matins
from matins.domain.runs.naming import OfJob, parse_run_name

TheRun = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="Its id, or how that begins; TEAM/NAME for the last run of a job, or"
        " TEAM/NAME@2026-11-30T02:00 for the one that was due then, in the job's zone.",
    ),
]
Failed = Annotated[
    bool,
    typer.Option(
        "--last-failed/--last",
        help="Of a job: its last run that failed; or its last run, as without either.",
    ),
]


async def find_run(client: Matins, name: str, *, failed: bool = False) -> UUID:
    """Return the id of the run that a name means; `failed`: of the last one of a job that failed.

    Raises InvalidInputError where it may mean several runs, or can't be read.
    """
    parsed = parse_run_name(name)
    if isinstance(parsed, UUID) and not failed:
        return parsed
    return (await client.find_run(name, failed=failed)).id


async def find_runs(client: Matins, names: Iterable[str] | None) -> list[UUID]:
    """Return the ids of the runs that names mean; of a job it is the last one that failed."""
    found = []
    for name in names or ():
        parsed = parse_run_name(name)
        is_open = isinstance(parsed, OfJob) and not parsed.at
        found.append(await find_run(client, name, failed=is_open))
    return found
