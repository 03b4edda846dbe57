"""Jobs as the web page finds them: of all teams, by text, state and labels."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from matins.domain.jobs.spec import Job, JobState
from matins.domain.runs.recent import RECENT_MAX, RecentRuns
from matins.domain.views import UnreadableJob
from matins.store.database import Database
from matins.store.job_rows import readable
from matins.store.kept import KeptCounts
from matins.store.queries import load_queries
from matins.store.recent import recent_runs

_Q = load_queries("job_search.sql")


class JobFilter(NamedTuple):
    """Which jobs: empty parts leave nothing out. `text` is part of `team/name`, in any case."""

    team: str = ""
    text: str = ""
    state: JobState | None = None
    labels: Mapping[str, str] = {}

    @property
    def args(self) -> dict[str, object]:
        """The parameters of the queries."""
        text = self.text.lower()  # as all names are
        escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        labels = msgspec.json.encode(dict(self.labels)).decode()
        return {
            "team": self.team,
            "text": text,
            "pattern": f"%{escaped}%",
            "labels": labels,
        }


class JobsFound(NamedTuple):
    """A page of jobs by team and name; `next` is where the following one begins."""

    jobs: Sequence[Job]
    unreadable: Sequence[UnreadableJob]
    next: str | None = None


class Upcoming(NamedTuple):
    """The next due time of a job."""

    team: str
    job: str
    due_at: datetime
    fire_at: datetime


class ChainLink(NamedTuple):
    """That a job follows another one of its team, and by which condition."""

    team: str
    upstream: str
    job: str
    condition: str


class PostgresJobSearch:
    """Reads for the web page. A replica will do."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counts = KeptCounts[dict[str, int]](lambda counts: sum(counts.values()))

    async def find(self, wanted: JobFilter, after: str, limit: int) -> JobsFound:
        """Return jobs by team and name, from that one (`team/name`) on."""
        team, _, name = after.partition("/")
        rows = await self._database.fetch(
            _Q["search"],
            **wanted.args,
            state=wanted.state or "",
            after_team=team,
            after_name=name,
            limit=limit,
        )
        jobs, unreadable = readable([(row["team"], row) for row in rows])
        following = f"{rows[-1]['team']}/{rows[-1]['name']}" if len(rows) == limit else None
        return JobsFound(jobs, unreadable, following)

    async def counts(self, wanted: JobFilter) -> dict[str, int]:
        """Return how many jobs of a filter are in each state, whatever state it asks for.

        Counting goes through all of them: of many the answer may be some seconds old.
        """

        async def read() -> dict[str, int]:
            rows = await self._database.fetch(_Q["counts"], **wanted.args)
            return {row["state"]: row["number"] for row in rows}

        return await self._counts.get(tuple(wanted.args.values()), read)

    async def recent(self, jobs: Sequence[Job], count: int = RECENT_MAX) -> dict[str, RecentRuns]:
        """Return the last runs of jobs, by the ids of those that have any."""
        found = await recent_runs(self._database.fetch, [job.id for job in jobs], count)
        return {str(job_id): RecentRuns.of(runs) for job_id, runs in found.items()}

    async def soonest(self, limit: int) -> list[Upcoming]:
        """Return which jobs are due next, of all teams."""
        rows = await self._database.fetch(_Q["soonest"], limit=limit)
        return [
            Upcoming(row["team"], row["name"], row["next_due_at"], row["next_fire_at"])
            for row in rows
        ]

    async def links(self, team: str, limit: int) -> list[ChainLink]:
        """Return which jobs follow which, of a team or of all."""
        rows = await self._database.fetch(_Q["links"], team=team, limit=limit)
        return [ChainLink(**dict(row)) for row in rows]

    async def named(self, names: Collection[tuple[str, str]]) -> list[Job]:
        """Return those jobs (team, name) that are there and can be read."""
        teams, jobs = [team for team, _ in names], [name for _, name in names]
        rows = await self._database.fetch(_Q["named"], teams=teams, names=jobs)
        return readable([(row["team"], row) for row in rows])[0]
