"""Which job follows which: no job may follow itself, on whatever way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from matins.domain.jobs.spec import JobSpec
from matins.domain.values.errors import ConflictError, InvalidInputError, Problem, check

Upstream = Mapping[str, Sequence[str]]
"""By job those with whose runs it is due."""

_WHERE: Final = "schedule.after.jobs"


def cycle(upstream: Upstream) -> list[str]:
    """Return the jobs of a cycle, each before the one that follows it; empty if there is none."""
    done: set[str] = set()
    for start in upstream:
        path: list[str] = []
        pending = [iter([start])]
        while pending:
            name = next(pending[-1], None)
            if name is None:
                pending.pop()
                if path:
                    done.add(path.pop())
            elif name in path:
                return list(reversed([*path[path.index(name) :], name]))
            elif name not in done:
                path.append(name)
                pending.append(iter(upstream.get(name, ())))
    return []


def check_upstream(spec: JobSpec, known: Mapping[str, Sequence[str]]) -> None:
    """Raise InvalidInputError if a job would follow itself, or one that is not there.

    `known` are all jobs that it follows, on whatever way, with those that they follow.
    """
    problems = [
        Problem(_WHERE, f"there is no job {name!r} in the team; put it first, or in the same file")
        for name in spec.upstream
        if name not in known and name != spec.name
    ]
    check(problems)
    if path := cycle({spec.name: spec.upstream, **_others(spec, known)}):
        raise InvalidInputError.at(_WHERE, f"go in a circle: {' → '.join(path)}")


def _others(spec: JobSpec, known: Upstream) -> Upstream:
    return {name: upstream for name, upstream in known.items() if name != spec.name}


def by_dependency(specs: Sequence[JobSpec]) -> list[list[int]]:
    """Return the places of jobs in groups: each follows jobs of the groups before it only.

    Raises InvalidInputError if they go in a circle.
    """
    places = {spec.name: index for index, spec in enumerate(specs)}
    upstream = {spec.name: [name for name in spec.upstream if name in places] for spec in specs}
    if path := cycle(upstream):
        index = places[path[-1]]
        raise InvalidInputError.at(f"jobs[{index}].{_WHERE}", f"go in a circle: {' → '.join(path)}")
    depths: dict[str, int] = {}
    groups: list[list[int]] = []
    pending = list(specs)
    while pending:
        ready = [spec for spec in pending if all(name in depths for name in upstream[spec.name])]
        for spec in ready:
            depths[spec.name] = len(groups)
        groups.append([places[spec.name] for spec in ready])
        pending = [spec for spec in pending if spec.name not in depths]
    return groups


def check_not_followed(name: str, downstream: Sequence[str]) -> None:
    """Raise ConflictError if other jobs are due with the runs of one that is to be deleted."""
    if downstream:
        raise ConflictError(
            f"{', '.join(downstream)} {'follows' if len(downstream) == 1 else 'follow'} {name!r}:"
            " change or delete what follows first, or delete it by force"
        )
