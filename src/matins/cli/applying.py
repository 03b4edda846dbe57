"""From a file of jobs to stored jobs: all of it is read and checked before the first is sent."""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import msgspec

from matins.client.sdk import Matins
from matins.domain.jobs.keeping import Keep
from matins.domain.jobs.spec import JobFile, JobSpec, JobState
from matins.domain.values.errors import InvalidInputError, NotFoundError, Problem, check
from matins.domain.values.reading import read_value
from matins.kernel.documents import Document, read_document

FILE_MAX = 1024 * 1024
"""The longest file of jobs, in bytes."""

STDIN = "-"

_ENDING_ZEROS = re.compile(r"\.[0-9]*0$")


class Applied(msgspec.Struct, frozen=True):
    """What became of one job or calendar of a file, or of what its team is to `keep`.

    `skipped` due times, of the job or of those that follow the calendar, are recorded as such.
    `is_over`: the schedule has come to its end, or lies in the past.
    """

    team: str
    job: str | None
    change: str
    calendar: str | None = None
    skipped: int = 0
    next_due_at: datetime | None = None
    is_over: bool = False
    keep: Keep | None = None


async def apply_text(client: Matins, text: str, name: str) -> list[Applied]:
    """Store the jobs of a file. Raises InvalidInputError, and nothing is stored, if one is wrong.

    `name` is what the file is called in messages. Applied again, it changes nothing.
    """
    return [applied async for applied in apply_jobs(client, read_jobs(text, name))]


async def apply_jobs(
    client: Matins, file: JobFile, *, dry_run: bool = False, reason: str = ""
) -> AsyncIterator[Applied]:
    """Store what is kept, calendars, then jobs, and tell of each. A dry run only tells."""
    if file.keep is not None:
        yield await _put_keep(client, file.team, file.keep, dry_run=dry_run)
    unknown: set[str] = set()
    for calendar in file.calendars:
        put = await client.put_calendar(file.team, calendar, dry_run=dry_run)
        if dry_run and put.change == "created":
            unknown.add(calendar.name)
        yield Applied(file.team, None, put.change, calendar.name, put.skipped)
    specs = [_without(spec, unknown) for spec in file.jobs]
    for answer in await client.put_jobs(file.team, specs, dry_run=dry_run, reason=reason):
        job = answer.job
        yield Applied(
            file.team,
            job.spec.name,
            answer.change,
            skipped=answer.skipped,
            next_due_at=job.next_due_at,
            is_over=job.state is JobState.ACTIVE and job.spec.is_timed and not job.next_due_at,
        )


async def _put_keep(client: Matins, team: str, keep: Keep, *, dry_run: bool) -> Applied:
    """Store what a team's jobs keep, unless they do already."""
    try:
        before = await client.get_keep(team)
    except NotFoundError:
        before = Keep()
    if before == keep:
        return Applied(team, None, "unchanged", keep=keep)
    if not dry_run:
        await client.put_keep(team, keep)
    return Applied(team, None, "changed", keep=keep)


def _without(spec: JobSpec, unknown: set[str]) -> JobSpec:
    """Leave out calendars that a dry run does not make: whether the job changes stays the same."""
    schedule = spec.schedule
    if schedule is None or unknown.isdisjoint(schedule.calendars):
        return spec
    known = [name for name in schedule.calendars if name not in unknown]
    on_closed = schedule.on_closed if known else "skip"
    schedule = msgspec.structs.replace(schedule, calendars=known, on_closed=on_closed)
    return msgspec.structs.replace(spec, schedule=schedule)


def read_text(source: str, mend: Callable[[bytes], bytes] = lambda data: data) -> tuple[str, str]:
    """Read a file, or standard input for `-`; returns the name for messages and the text.

    `mend` gets the bytes before they are decoded, and keeps the lines as they are.
    """
    name = "standard input" if source == STDIN else source
    try:
        if source == STDIN:
            data = _read(sys.stdin.buffer)
        else:
            with Path(source).open("rb") as file:
                data = _read(file)
    except OSError as error:
        raise InvalidInputError.at(name, f"can't be read: {error.strerror}") from error
    if len(data) > FILE_MAX:
        raise InvalidInputError.at(name, f"is longer than {FILE_MAX} bytes; split it")
    data = mend(data)
    try:
        return name, data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"is not UTF-8: the byte 0x{data[error.start]:02x} can't be read"
        raise InvalidInputError.at(f"{name}: line {line}", message) from error


def read_jobs(text: str, name: str) -> JobFile:
    """Read and check a file of jobs. Raises InvalidInputError with the file and all places."""
    document = Document(None)
    try:
        document = read_document(text, is_json=name.endswith(".json"))
        file = read_value(document.value, JobFile)
        check([*file.problems(), *_shortened(file, document)])
    except InvalidInputError as error:
        problems = [
            Problem(_place(name, problem.where, document), problem.message)
            for problem in error.problems
        ]
        raise InvalidInputError(problems) from error
    if not file.jobs and not file.calendars and not file.keep:
        raise InvalidInputError.at(f"{name}: jobs", "is empty; list at least one job")
    return file


def _shortened(file: JobFile, document: Document) -> list[Problem]:
    """Name the numbers of bodies that would lose the zeros with which they end, as `1.10` would."""
    problems = []
    for index, spec in enumerate(file.jobs):
        http = spec.target.http
        body = None if http is None else http.body
        for where, number in _floats(f"jobs[{index}].target.http.body", body):
            written = document.written(where)
            if written and _ENDING_ZEROS.search(written) and written != str(number):
                message = f"{written} would be sent as {number}; write it so, or in quotes"
                problems.append(Problem(where, message))
    return problems


def _floats(where: str, value: object) -> Iterator[tuple[str, float]]:
    if isinstance(value, float):
        yield where, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _floats(f"{where}.{key}", inner)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _floats(f"{where}[{index}]", inner)


def _read(file: BinaryIO) -> bytes:
    return file.read(FILE_MAX + 1)


def _place(name: str, where: str, document: Document) -> str:
    line = document.line(where)
    place = f"{where} (line {line})" if line else where
    return f"{name}: {place}" if where else name
