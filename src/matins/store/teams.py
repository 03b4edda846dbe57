"""What holds for all jobs of a team."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

import msgspec

from matins.domain.jobs.keeping import Keep
from matins.domain.jobs.sharing import TeamRecord, TeamShare
from matins.domain.runs.output import TeamOutput
from matins.domain.values.errors import NotFoundError, check
from matins.domain.values.names import check_name
from matins.store.database import Database
from matins.store.job_rows import as_json
from matins.store.kept import KeptCounts
from matins.store.queries import load_queries

_Q = load_queries("teams.sql")


class TeamLine(NamedTuple):
    """A team in a list: its weight, and what it has. `failing`: to so many of its channels nothing
    arrives.
    """

    name: str
    weight: int
    created_at: datetime
    jobs: int
    paused: int
    channels: int
    failing: int


class PostgresTeams:
    """Teams, which come into being when they are first named."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counts = KeptCounts[dict[int, tuple[int, int]]](_jobs_in_all)

    async def keep(self, team: str) -> Keep:
        """Return what a team's jobs keep that don't say it themselves. Raises NotFoundError."""
        check_name("team", team)
        row = await self._database.fetchrow(_Q["keep"], team=team)
        if row is None:
            raise NotFoundError(f"there is no team {team!r}")
        return Keep() if row["keep"] is None else msgspec.json.decode(row["keep"], type=Keep)

    async def all(self) -> list[TeamRecord]:
        """Return all teams, by name."""
        return [TeamRecord(**row) for row in await self._database.fetch(_Q["all"])]

    async def find(self, text: str, after: str, limit: int) -> list[TeamLine]:
        """Return the teams with a text in their name, by name, from after that one on.

        How many jobs they have may be some seconds old, if these are many.
        """
        rows = await self._database.fetch(_Q["find"], text=text.lower(), after=after, limit=limit)
        teams = tuple(row["id"] for row in rows)
        counts = await self._counts.get(teams, partial(self._count_jobs, teams))
        lines = []
        for row in rows:
            jobs, paused = counts.get(row["id"], (0, 0))
            fields = {name: value for name, value in row.items() if name != "id"}
            lines.append(TeamLine(**fields, jobs=jobs, paused=paused))
        return lines

    async def _count_jobs(self, teams: Sequence[int]) -> dict[int, tuple[int, int]]:
        """Return how many jobs teams have, and how many of these are paused."""
        rows = await self._database.fetch(_Q["jobs"], teams=list(teams))
        return {row["team_id"]: (row["jobs"], row["paused"]) for row in rows}

    async def share(self, team: str) -> TeamShare:
        """Return how a team shares the pools. Raises NotFoundError."""
        check_name("team", team)
        row = await self._database.fetchrow(_Q["share"], team=team)
        if row is None:
            raise NotFoundError(f"there is no team {team!r}")
        return TeamShare(row["weight"])

    async def put_share(self, team: str, share: TeamShare) -> TeamShare:
        """Let a team share the pools like that, within a second or two. Raises
        InvalidInputError.
        """
        check_name("team", team)
        check(share.problems())
        await self._database.fetch(_Q["put_share"], team=team, weight=share.weight)
        return share

    async def output(self, team: str) -> TeamOutput:
        """Return what is kept of the output of a team's attempts. Raises NotFoundError."""
        check_name("team", team)
        row = await self._database.fetchrow(_Q["output"], team=team)
        if row is None:
            raise NotFoundError(f"there is no team {team!r}")
        return msgspec.json.decode(row["output"] or "{}", type=TeamOutput)

    async def put_output(self, team: str, output: TeamOutput) -> TeamOutput:
        """Let so much be kept of the output of attempts that begin from now on. Raises
        InvalidInputError.
        """
        check_name("team", team)
        check(output.problems())
        await self._database.fetch(_Q["put_output"], team=team, output=as_json(output))
        return output

    async def put_keep(self, team: str, keep: Keep) -> Keep:
        """Let a team's jobs keep that much. Raises InvalidInputError."""
        check_name("team", team)
        check(keep.problems())
        await self._database.fetch(_Q["put_keep"], team=team, keep=as_json(keep))
        return keep


def _jobs_in_all(counts: Mapping[int, tuple[int, int]]) -> int:
    return sum(jobs for jobs, _ in counts.values())
