"""The load of all jobs, kept up to date job by job."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from matins.insight.forecast.canvas import Canvas, Curve
from matins.insight.forecast.layouts import Layouts
from matins.insight.forecast.loads import Load, SharedLoad
from matins.insight.forecast.sorting import Booking, Sorter
from matins.insight.forecast.tallies import Cell, PhasedTally, SharedTally, Tally, tally


class LoadBook:
    """Counts jobs by team, pool and load. Nobody may ask for what was before `since`, in whole
    seconds from 1970 UTC.
    """

    def __init__(self, since: int) -> None:
        self._since = since
        self._sorter = Sorter()
        self._cells: dict[Cell, dict[Load, Tally]] = {}
        # By the id as a number, which takes half the room.
        self._tallies: dict[int, Tally] = {}
        self._anchors: dict[int, int] = {}
        self._late: set[PhasedTally] = set()

    def __len__(self) -> int:
        return len(self._tallies)

    def add(self, job: Booking) -> bool:
        """Book a job, in place of what was booked for it before.

        Tells whether any load may have changed by that. Raises ScheduleError, and leaves all as it
        is, if the schedule can't be compiled.
        """
        load, anchor = self._sorter.sort(job)
        cell, key = (job.team, job.pool), job.id.int
        known = self._tallies.get(key)
        if known is not None:
            if (known.cell, known.load, self._anchors.get(key, 0)) == (cell, load, anchor):
                return False
            self.remove(job.id)
        tallies = self._cells.get(cell)
        if tallies is None:
            tallies = self._cells[cell] = {}
        found = tallies.get(load)
        if found is None:
            found = tallies[load] = tally(cell, load)
        found.count += 1
        self._tallies[key] = found
        if isinstance(found, PhasedTally):
            self._anchors[key] = anchor
            found.count_phase(anchor, 1, self._since)
            if found.later:
                self._late.add(found)
        return True

    def remove(self, job_id: UUID) -> bool:
        """Take a job out; tells whether it was in the book."""
        key = job_id.int
        found = self._tallies.pop(key, None)
        if found is None:
            return False
        found.count -= 1
        if isinstance(found, PhasedTally):
            found.count_phase(self._anchors.pop(key), -1, self._since)
        if found.count == 0:
            tallies = self._cells[found.cell]
            del tallies[found.load]
            if not tallies:
                del self._cells[found.cell]
        return True

    def settle(self, since: int) -> None:
        """Forget what only those need who ask for what was before `since`: nobody will."""
        self._since = since
        self._late = {it for it in self._late if it.settle(since)}

    def cells(self, team: str | None = None, pool: str | None = None) -> list[Cell]:
        """Give the teams and pools that have jobs, of one team or pool or of all."""
        return [cell for cell in self._cells if team in {None, cell[0]} and pool in {None, cell[1]}]

    def about(self, layouts: Layouts, cells: list[Cell]) -> tuple[int, float]:
        """Give how many jobs some cells have, and about how many fires, to compare by."""
        jobs, fires = 0, 0.0
        for it in self._tallies_of(cells):
            jobs += it.count
            fires += layouts.about(it)
        return jobs, fires

    def curve(self, layouts: Layouts, cells: list[Cell]) -> Curve:
        """Give the fires of some cells in the window of the layouts."""
        return self._canvas(layouts, cells).curve()

    def minutes(self, layouts: Layouts, cells: list[Cell]) -> list[float]:
        """Give the fires of some cells in each minute of the window."""
        return self._canvas(layouts, cells).minutes()

    def _canvas(self, layouts: Layouts, cells: list[Cell]) -> Canvas:
        canvas = Canvas(layouts.since, layouts.until)
        counts: dict[SharedLoad, int] = {}
        for it in self._tallies_of(cells):
            if isinstance(it, SharedTally):
                counts[it.load] = counts.get(it.load, 0) + it.count
            else:
                for part in layouts.phased(it):
                    canvas.add(part, 1)
        for load, count in counts.items():
            for part in layouts.shared(load):
                canvas.add(part, count)
        return canvas

    def _tallies_of(self, cells: list[Cell]) -> Iterator[Tally]:
        for cell in cells:
            yield from self._cells[cell].values()
