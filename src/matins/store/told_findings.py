"""What operators were told of each finding. See `domain.ports.status.ToldFindings`."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import asyncpg

from matins.domain.status.findings import FindingKind
from matins.domain.status.telling import LEASE, QUIET, BadFinding, FindingTurn, Key, TakenTurns
from matins.store.database import Database
from matins.store.queries import load_queries

_Q = load_queries("told_findings.sql")


class PostgresToldFindings:
    """A row for each finding, which all APIs share."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def bad(self, found: Collection[Key]) -> dict[Key, BadFinding]:
        """See `domain.ports.status.ToldFindings`."""
        rows = await self._database.fetch(
            _Q["bad"], known_kinds=list(FindingKind), **_columns(found)
        )
        return {
            _key(row): BadFinding(row["turned_at"], row["reason"], row["is_told"]) for row in rows
        }

    async def take(self, turns: Sequence[FindingTurn]) -> TakenTurns:
        """See `domain.ports.status.ToldFindings`."""
        rows = await self._database.fetch(
            _Q["take"],
            **_columns([turn.key for turn in turns]),
            bads=[turn.is_bad for turn in turns],
            ats=[turn.at for turn in turns],
            reasons=[turn.reason for turn in turns],
            lease=LEASE,
            quiet=QUIET,
        )
        taken = {_key(row) for row in rows if row["is_mine"]}
        return TakenTurns(taken, {_key(row) for row in rows if row["is_settled"]} - taken)

    async def release(self, keys: Collection[Key]) -> None:
        """See `domain.ports.status.ToldFindings`."""
        await self._database.fetch(_Q["release"], **_columns(keys))

    async def told(self, keys: Collection[Key], *, is_bad: bool) -> None:
        """See `domain.ports.status.ToldFindings`."""
        await self._database.fetch(_Q["told"], **_columns(keys), is_bad=is_bad)


def _columns(keys: Collection[Key]) -> dict[str, list[str]]:
    return {"kinds": [kind for kind, _ in keys], "subjects": [subject for _, subject in keys]}


def _key(row: asyncpg.Record) -> Key:
    return FindingKind(row["kind"]), row["subject"]
