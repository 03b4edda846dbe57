"""Many jobs, divided into what one request may hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from matins.domain.jobs.spec import LIST_MAX, JobSpec
from matins.domain.values.errors import InvalidInputError, Problem

PART_MAX = 1_000_000
"""The most bytes of jobs in one request; the API takes 1 MiB."""

_PLACE = re.compile(r"jobs\[(\d+)\]")


def parts(specs: Sequence[JobSpec]) -> Iterator[list[JobSpec]]:
    """Divide jobs, in their order."""
    part: list[JobSpec] = []
    size = 0
    for spec in specs:
        length = len(msgspec.json.encode(spec)) + 1
        if part and (len(part) == LIST_MAX or size + length > PART_MAX):
            yield part
            part, size = [], 0
        part.append(spec)
        size += length
    if part:
        yield part


def as_of_all(error: InvalidInputError, before: int) -> InvalidInputError:
    """Return what is wrong with a part, with its places counted from the first of all jobs."""

    def place(match: re.Match[str]) -> str:
        return f"jobs[{int(match[1]) + before}]"

    return InvalidInputError(
        [
            Problem(_PLACE.sub(place, problem.where, count=1), problem.message)
            for problem in error.problems
        ]
    )
