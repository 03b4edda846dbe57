"""Jobs that are due, team by team in turn: a burst of one team does not hold up others' claims."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator

from matins.scheduler.planning import LoadedJob


class Turns:
    """A queue in which each team has its turn; of one team it is first come, first served."""

    def __init__(self) -> None:
        self._teams: OrderedDict[int, deque[LoadedJob]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._teams)

    def __iter__(self) -> Iterator[LoadedJob]:
        for entries in self._teams.values():
            yield from entries

    def append(self, entry: LoadedJob) -> None:
        """Add a job behind those of its team."""
        entries = self._teams.get(entry.job.team_id)
        if entries is None:
            entries = self._teams[entry.job.team_id] = deque()
        entries.append(entry)

    def popleft(self) -> LoadedJob:
        """Take the first job of the team whose turn it is."""
        team = next(iter(self._teams))
        entries = self._teams[team]
        entry = entries.popleft()
        if not entries:
            del self._teams[team]
        elif len(self._teams) > 1:
            self._teams.move_to_end(team)
        return entry
