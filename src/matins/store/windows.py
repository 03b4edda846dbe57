"""Maintenance windows of teams: put, look at, delete. What they do is done by admission; what a
window holds that has changed is decided about anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import asyncpg
import msgspec

from matins.domain.jobs.windows import KEPT, Window
from matins.domain.ports import Hints
from matins.domain.values.errors import ConflictError, NotFoundError, check
from matins.domain.values.names import check_name
from matins.domain.views import WindowChanged, WindowRecord
from matins.kernel.hints import notify
from matins.store.database import Database
from matins.store.job_rows import as_json
from matins.store.queries import load_queries

WINDOWS_MAX: Final = 100
"""The most windows of one team that are in force or to come."""

_Q = load_queries("windows.sql")


class PostgresWindows:
    """The windows of all teams."""

    def __init__(self, database: Database, hints: Hints) -> None:
        self._database = database
        self._hints = hints

    async def kept(self, team: str) -> list[WindowRecord]:
        """A team's windows by their begin: in force, to come, and those that were over lately."""
        check_name("team", team)
        return await self._kept(team, None)

    async def show(self, team: str, name: str) -> WindowRecord:
        """One window. Raises NotFoundError."""
        check_name("team", team)
        check_name("name", name)
        found = await self._kept(team, name)
        if not found:
            raise _missing(team, name)
        return found[0]

    async def put(self, team: str, window: Window) -> WindowChanged:
        """Make a window or change it; an equal one is left as it is.

        It holds from when this returns. Raises InvalidInputError, ConflictError when there are too
        many.
        """
        check_name("team", team)
        while True:
            async with self._database.transaction() as session:
                done = await self._put(session, team, window)
            if done is not None:
                break  # else someone else has just made it
        if done.change == "changed":
            await notify(self._hints, "jobs")
        return done

    async def delete(self, team: str, name: str) -> WindowChanged:
        """End a window at once and forget it; what it held runs now. Raises NotFoundError."""
        check_name("team", team)
        check_name("name", name)
        async with self._database.transaction() as session:
            rows = await self._database.run(session, _Q["lock"], team=team, name=name)
            if not rows:
                raise _missing(team, name)
            await self._database.run(session, _Q["drop"], id=rows[0]["id"])
            await self._database.run(session, _Q["changes"], team=team)
        await notify(self._hints, "jobs")
        return WindowChanged(_window(rows[0]), "deleted", held=rows[0]["held"])

    async def _put(
        self, session: asyncpg.pool.PoolConnectionProxy, team: str, window: Window
    ) -> WindowChanged | None:
        """Put it in one transaction; None when another one came between."""
        rows = await self._database.run(session, _Q["lock"], team=team, name=window.name)
        jobs = await self._covered(session, team, window)
        old = _window(rows[0]) if rows else None
        if old == window:
            return WindowChanged(window, "unchanged", jobs, rows[0]["held"])
        await self._check(session, team, window)
        given = _columns(window)
        if old is not None:
            await self._database.run(session, _Q["update"], id=rows[0]["id"], **given)
            await self._database.run(session, _Q["changes"], team=team)
            return WindowChanged(window, "changed", jobs, rows[0]["held"])
        await self._database.make_team(session, team)
        made = await self._database.run(session, _Q["insert"], team=team, name=window.name, **given)
        await self._database.run(session, _Q["changes"], team=team)
        return WindowChanged(window, "created", jobs) if made else None

    async def _check(
        self, session: asyncpg.pool.PoolConnectionProxy, team: str, window: Window
    ) -> None:
        """Refuse what is wrong or too much; what was over long ago makes room."""
        now = await self._database.clock(session)
        check(window.problems(now))
        await self._database.run(session, _Q["forget"], before=now - KEPT)
        [others] = await self._database.run(session, _Q["count"], team=team, name=window.name)
        if others["count"] >= WINDOWS_MAX:
            message = f"team {team} has {WINDOWS_MAX} windows in force or to come; delete one first"
            raise ConflictError(message)

    async def _kept(self, team: str, name: str | None) -> list[WindowRecord]:
        async with self._database.session() as session:
            now = await self._database.clock(session)
            given = {"team": team, "name": name, "after": now - KEPT}
            rows = await self._database.run(session, _Q["kept"], **given)
        return [_record(row, now) for row in rows]

    async def _covered(
        self, session: asyncpg.pool.PoolConnectionProxy, team: str, window: Window
    ) -> int:
        labels = as_json(window.labels)
        [row] = await self._database.run(session, _Q["covered"], team=team, labels=labels)
        count: int = row["count"]
        return count


async def windows_of(
    database: Database, team: str, labels: Mapping[str, str], since: datetime, until: datetime
) -> list[Window]:
    """The windows that a job with these labels meets at some time between the two instants.

    For `domain.windows.window_at`.
    """
    rows = await database.fetch(
        _Q["between"], team=team, labels=as_json(dict(labels)), since=since, until=until
    )
    return [_window(row) for row in rows]


def _missing(team: str, name: str) -> NotFoundError:
    return NotFoundError(f"team {team} has no window {name!r}")


def _columns(window: Window) -> dict[str, object]:
    return {
        "policy": window.policy,
        "labels": as_json(window.labels),
        "starts_at": window.starts_at,
        "ends_at": window.ends_at,
        "why": window.why,
    }


def _window(row: asyncpg.Record) -> Window:
    return Window(
        name=row["name"],
        starts_at=row["starts_at"],
        ends_at=row["ends_at"],
        policy=row["policy"],
        labels=msgspec.json.decode(row["labels"], type=dict[str, str]),
        why=row["why"],
    )


def _record(row: asyncpg.Record, now: datetime) -> WindowRecord:
    window = _window(row)
    return WindowRecord(window, window.state(now), row["held"], row["made_at"])
