"""The 256 partitions as a strip of cells, coloured by who holds them; the key says it in words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final, NamedTuple

from matins.domain.runs.cluster import Cluster, SchedulerRecord
from matins.domain.values.ids import PARTITIONS
from matins.web.wording import plural

COLUMNS: Final = 64
CELL: Final = 12
GAP: Final = 2
COLOURS: Final = 8
"""So many holders have a colour of their own; after them it begins anew."""


class HolderShare(NamedTuple):
    """What one holder has: the cells as one path, and its line of the key."""

    fill: str
    path: str
    name: str
    partitions: str
    ranges: str


class Strip(NamedTuple):
    """The whole strip, what nobody holds first."""

    width: int
    height: int
    shares: list[HolderShare]
    label: str


def strip(cluster: Cluster) -> Strip:
    """Draw who holds which partition. What a scheduler lost that is gone belongs to nobody."""
    free = set(cluster.without_holder)
    held = [
        (record, [place for place in record.partitions if place not in free])
        for record in cluster.schedulers
    ]
    shares = [_share("bad", "No holder", sorted(free))] if free else []
    for index, (record, places) in enumerate([pair for pair in held if pair[1]]):
        shares.append(_share(str(index % COLOURS), name_of(record), places))
    rows = PARTITIONS // COLUMNS
    told = "; ".join(f"{share.name}: {share.partitions}" for share in shares)
    label = f"partitions by holder: {told}"
    return Strip(COLUMNS * (CELL + GAP) - GAP, rows * (CELL + GAP) - GAP, shares, label)


def name_of(record: SchedulerRecord) -> str:
    """Return what a scheduler is called: its name, and the beginning of its id."""
    return f"{record.name} {str(record.id)[:8]}".strip()


def ranges(places: Sequence[int]) -> str:
    """Return partitions in ascending order as people write them: `0-3, 7`."""
    runs = []
    for _, group in groupby(enumerate(places), lambda pair: pair[1] - pair[0]):
        run = [place for _, place in group]
        runs.append(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]))
    return ", ".join(runs)


def _share(fill: str, name: str, places: Sequence[int]) -> HolderShare:
    cells = []
    for place in places:
        row, column = divmod(place, COLUMNS)
        x, y = column * (CELL + GAP), row * (CELL + GAP)
        cells.append(f"M{x} {y}h{CELL}v{CELL}h-{CELL}z")
    return HolderShare(fill, "".join(cells), name, plural(len(places), "partition"), ranges(places))
