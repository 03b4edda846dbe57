"""Dead letters in PostgreSQL: what owners see of them, and what closes them."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from matins.domain.runs.dead import (
    DeadChoice,
    DeadCounts,
    DeadFilter,
    DeadGroup,
    DeadLetter,
    DeadPage,
    Dismissal,
)
from matins.domain.values.names import check_name
from matins.store.database import Database
from matins.store.queries import load_queries
from matins.store.reads import LAST_ID

_Q = load_queries("dead.sql")

LOOK_MAX: Final = 20_000
"""How many letters are looked at when they are grouped."""

COUNT_MAX: Final = 100_000
"""How many letters of a team are counted."""

JOBS_MAX: Final = 1_000
"""How many jobs are told of with their counts."""


class PostgresDeadLetters:
    """The dead letters of all teams."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(
        self, team: str, letters: DeadFilter, before: UUID | None, limit: int, *, dismissed: bool
    ) -> DeadPage:
        """Return those of a team, newest due time first: open, or `dismissed` ones."""
        check_name("team", team)
        rows = await self._database.fetch(
            _Q["page"],
            **filter_args(team, letters),
            dismissed=dismissed,
            before=before or LAST_ID,
            limit=limit,
        )
        page = [DeadLetter(**row) for row in rows]
        return DeadPage(page, page[-1].run_id if len(page) == limit else None)

    async def groups(self, team: str, letters: DeadFilter, limit: int) -> list[DeadGroup]:
        """Return the largest groups of a team's open letters, by job and fingerprint; of so many
        that are asked for as are the `LOOK_MAX` newest.
        """
        check_name("team", team)
        args = filter_args(team, letters)
        rows = await self._database.fetch(_Q["groups"], **args, look=LOOK_MAX, limit=limit)
        return [DeadGroup(**row) for row in rows]

    async def groups_of_all(self, limit: int) -> list[tuple[str, DeadGroup]]:
        """Return the largest groups of all teams' open letters, each with its team; of so many
        letters as are the `LOOK_MAX` newest.
        """
        rows = await self._database.fetch(_Q["groups_of_all"], look=LOOK_MAX, limit=limit)
        records = [dict(row) for row in rows]
        return [(record.pop("team"), DeadGroup(**record)) for record in records]

    async def counts(self, team: str) -> DeadCounts:
        """Return how many open letters a team has, up to a bound, and those of its jobs that have
        most.
        """
        check_name("team", team)
        args = {"team": team, "look": COUNT_MAX, "limit": JOBS_MAX}
        rows = await self._database.fetch(_Q["counts"], **args)
        total = rows[0]["total"] if rows else 0
        jobs = {row["job"]: row["count"] for row in rows}
        return DeadCounts(total, jobs, total < COUNT_MAX and sum(jobs.values()) == total)

    async def of_run(self, run_id: UUID) -> DeadLetter | None:
        """Return the letter of a run, open or dismissed; None if it has none."""
        row = await self._database.fetchrow(_Q["of_run"], run_id=run_id)
        return None if row is None else DeadLetter(**row)

    async def dismiss(
        self, team: str, letters: DeadChoice, dismissal: Dismissal, limit: int
    ) -> int:
        """See `domain.ports.dead.LetterChanges`."""
        args = filter_args(team, letters)
        rows = await self._database.fetch(
            _Q["dismiss"], **args, by=dismissal.by, note=dismissal.note, limit=limit
        )
        return len(rows)


def filter_args(team: str, letters: DeadFilter) -> dict[str, object]:
    """Return the arguments of `fragments/chosen_letters.sql`."""
    return {
        "team": team,
        "job": letters.job,
        "fingerprint": letters.fingerprint,
        "since": letters.since,
        "until": letters.until,
        "run_ids": letters.runs if isinstance(letters, DeadChoice) else None,
    }
