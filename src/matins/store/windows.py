"""Maintenance windows of teams: what owners look at, and what changes of them need.

See `domain.ports.windows`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

import asyncpg
import msgspec

from matins.domain.jobs.windows import KEPT, Window
from matins.domain.ports.windows import TeamWindows, WindowChange
from matins.domain.values.errors import NotFoundError
from matins.domain.values.names import check_name
from matins.domain.views import WindowRecord
from matins.store.database import Database
from matins.store.job_rows import as_json
from matins.store.queries import load_queries

_Q = load_queries("windows.sql")


class PostgresWindows:
    """The windows of all teams."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_team(self, team: str) -> list[WindowRecord]:
        """Return a team's windows by their begin: in force, to come, and those that were over
        lately.
        """
        check_name("team", team)
        return await self._windows(team, None)

    async def soon(self, team: str, limit: int) -> list[tuple[str, Window]]:
        """Return windows that are in force or to come, with their teams: of one, or of all."""
        rows = await self._database.fetch(_Q["soon"], team=team, limit=limit)
        return [(row["team"], window_of(row)) for row in rows]

    async def show(self, team: str, name: str) -> WindowRecord:
        """One window. Raises NotFoundError."""
        check_name("team", team)
        check_name("name", name)
        records = await self._windows(team, name)
        if not records:
            raise NotFoundError(f"team {team} has no window {name!r}")
        return records[0]

    async def change(
        self, team: str, name: str, decide: Callable[[TeamWindows], WindowChange]
    ) -> WindowChange:
        """See `domain.ports.windows.WindowChanges`."""
        async with self._database.transaction() as session:
            await self._database.make_team(session, team)
            [locked] = await self._database.run(session, _Q["lock"], team=team, name=name)
            args = {"team_id": locked["team_id"], "name": name}
            rows = await self._database.run(session, _Q["found"], **args, now=locked["now"])
            windows = {row["name"]: window_of(row) for row in rows}
            done = decide(TeamWindows(locked["now"], windows, locked["held"]))
            if done.change == "unchanged":
                return done
            if done.change == "deleted":
                await self._database.run(session, _Q["delete"], **args)
            else:
                columns = args | _columns(done.window)
                await self._database.run(session, _Q["write"], **columns, now=locked["now"])
            before = locked["now"] - KEPT
            await self._database.run(session, _Q["forget"], before=before)
            await self._database.run(session, _Q["revise"], team_id=locked["team_id"])
        return done

    async def count_covered(self, team: str, labels: Mapping[str, str]) -> int:
        """See `domain.ports.windows.WindowChanges`."""
        [row] = await self._database.fetch(
            _Q["count_covered"], team=team, labels=as_json(dict(labels))
        )
        count: int = row["count"]
        return count

    async def _windows(self, team: str, name: str | None) -> list[WindowRecord]:
        async with self._database.session() as session:
            now = await self._database.clock(session)
            args = {"team": team, "name": name, "after": now - KEPT}
            rows = await self._database.run(session, _Q["kept"], **args)
        return [_record(row, now) for row in rows]


async def windows_of(
    database: Database, team: str, labels: Mapping[str, str], since: datetime, until: datetime
) -> list[Window]:
    """Return the windows that a job with these labels meets at some time between the two instants.

    For `domain.jobs.windows.window_at`.
    """
    rows = await database.fetch(
        _Q["between"], team=team, labels=as_json(dict(labels)), since=since, until=until
    )
    return [window_of(row) for row in rows]


def _columns(window: Window) -> dict[str, object]:
    return {
        "policy": window.policy,
        "labels": as_json(window.labels),
        "starts_at": window.starts_at,
        "ends_at": window.ends_at,
        "reason": window.reason,
    }


def window_of(row: asyncpg.Record) -> Window:
    """Return a window from its row."""
    return Window(
        name=row["name"],
        starts_at=row["starts_at"],
        ends_at=row["ends_at"],
        policy=row["policy"],
        labels=msgspec.json.decode(row["labels"], type=dict[str, str]),
        reason=row["reason"],
    )


def _record(row: asyncpg.Record, now: datetime) -> WindowRecord:
    window = window_of(row)
    return WindowRecord(window, window.state(now), row["held"], row["made_at"])
