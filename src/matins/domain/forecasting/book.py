"""The load of all jobs, kept up to date job by job."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from matins.domain.forecasting.canvas import Canvas, Curve
from matins.domain.forecasting.layouts import Layouts
from matins.domain.forecasting.loads import Load, SharedLoad
from matins.domain.forecasting.sorting import Booking, Sorter
from matins.domain.forecasting.tallies import Cell, PhasedTally, SharedTally, Tally, tally


class LoadBook:
    """Counts jobs by team, pool and load. Nobody may ask for what was before `since`, in whole
    seconds from 1970 UTC.
    """

    def __init__(self, since: int) -> None:
        self._since = since
        self._sorter = Sorter()
        self._cells: dict[Cell, dict[Load, Tally]] = {}
        # By the id as a number, which takes half the room. An anchor of 0 is not kept.
        self._tallies: dict[int, Tally] = {}
        self._anchors: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._tallies)

    def add(self, job: Booking) -> None:
        """Book a job, in place of what was booked for it before.

        Raises ScheduleError, with nothing booked for it, if its schedule can't be compiled.
        """
        self.remove(job.id)
        load, anchor = self._sorter.sort(job)
        cell = job.team, job.pool
        tallies = self._cells.get(cell)
        if tallies is None:
            tallies = self._cells[cell] = {}
        found = tallies.get(load)
        if found is None:
            found = tallies[load] = tally(cell, load, self._since)
        found.add(anchor)
        key = job.id.int
        self._tallies[key] = found
        if anchor:
            self._anchors[key] = anchor

    def remove(self, job_id: UUID) -> None:
        """Take a job out; one that is not in the book is none."""
        key = job_id.int
        found = self._tallies.pop(key, None)
        if found is None:
            return
        found.remove(self._anchors.pop(key, 0))
        if found.count == 0:
            tallies = self._cells[found.cell]
            del tallies[found.load]
            if not tallies:
                del self._cells[found.cell]

    def settle(self, since: int) -> None:
        """Forget what only those need who ask for what was before `since`: nobody will."""
        self._since = since
        for it in self._tallies_of(self.cells()):
            if isinstance(it, PhasedTally):
                it.settle(since)

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
