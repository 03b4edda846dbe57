"""Jobs that follow jobs, as a graph in columns: what comes first stands left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

NODE_WIDTH: Final = 208
NODE_HEIGHT: Final = 40
COLUMN: Final = 268
ROW: Final = 56
PASSES: Final = 4
"""How often rows are put into the order of their neighbours'."""


class Dependency(NamedTuple):
    """That a job follows another."""

    upstream: str
    job: str


class Node(NamedTuple):
    """A job's place."""

    name: str
    x: int
    y: int


class Arrow(NamedTuple):
    """A link's way, as the path of an SVG."""

    upstream: str
    job: str
    path: str


class Graph(NamedTuple):
    """A graph whose jobs hang together."""

    width: int
    height: int
    nodes: list[Node]
    edges: list[Arrow]


def components(links: Iterable[Dependency]) -> list[list[Dependency]]:
    """Return the links of each set of jobs that hang together, the largest first."""
    parents: dict[str, str] = {}

    def root(name: str) -> str:
        while (parent := parents.setdefault(name, name)) != name:
            name = parent
        return name

    listed = list(links)
    for link in listed:
        parents[root(link.upstream)] = root(link.job)
    by_root: dict[str, list[Dependency]] = {}
    for link in listed:
        by_root.setdefault(root(link.job), []).append(link)
    return sorted(by_root.values(), key=lambda found: (-len(found), found[0]))


def graph(links: Sequence[Dependency]) -> Graph:
    """Lay out jobs: each one column right of the last that it follows, near its neighbours."""
    depths = _depths(links)
    columns: list[list[str]] = [[] for _ in range(max(depths.values(), default=0) + 1)]
    for name in sorted(depths):
        columns[depths[name]].append(name)
    _order(columns, links)
    tallest = max(len(column) for column in columns)
    places = {}
    for index, column in enumerate(columns):
        top = (tallest - len(column)) * ROW // 2
        for row, name in enumerate(column):
            places[name] = Node(name, index * COLUMN, top + row * ROW)
    width = (len(columns) - 1) * COLUMN + NODE_WIDTH
    height = (tallest - 1) * ROW + NODE_HEIGHT
    return Graph(width, height, list(places.values()), [_edge(places, link) for link in links])


def _depths(links: Sequence[Dependency]) -> dict[str, int]:
    """Return the column of each job. There are no circles: they are refused."""
    above: dict[str, list[str]] = {}
    for link in links:
        above.setdefault(link.upstream, [])
        above.setdefault(link.job, []).append(link.upstream)
    depths = dict.fromkeys(above, 0)
    for _ in depths:  # a path is as long as there are jobs, at most
        deeper = {
            name: max(depths[upstream] + 1 for upstream in names)
            for name, names in above.items()
            if names and max(depths[upstream] + 1 for upstream in names) != depths[name]
        }
        if not deeper:
            break
        depths |= deeper
    return depths


def _order(columns: list[list[str]], links: Sequence[Dependency]) -> None:
    """Put each column into the order of the mean row of what its jobs follow, and lead."""
    near: dict[str, list[str]] = {}
    for link in links:
        near.setdefault(link.job, []).append(link.upstream)
        near.setdefault(link.upstream, []).append(link.job)
    rows = _rows(columns)
    for _ in range(PASSES):
        for column in columns:
            means = {name: _mean(rows[other] for other in near[name]) for name in column}
            column.sort(key=lambda name: (means[name], name))
            rows |= _rows([column])


def _rows(columns: Sequence[Sequence[str]]) -> dict[str, float]:
    return {name: row - len(column) / 2 for column in columns for row, name in enumerate(column)}


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)


def _edge(places: Mapping[str, Node], link: Dependency) -> Arrow:
    begin, end = places[link.upstream], places[link.job]
    x, y = begin.x + NODE_WIDTH, begin.y + NODE_HEIGHT // 2
    to_x, to_y = end.x, end.y + NODE_HEIGHT // 2
    middle = (x + to_x) // 2
    return Arrow(link.upstream, link.job, f"M{x} {y}C{middle} {y} {middle} {to_y} {to_x} {to_y}")
