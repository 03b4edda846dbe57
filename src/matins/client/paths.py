"""Paths and queries of the API, and reading its lists page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final, TypeVar
from uuid import UUID

from matins.client.calls import ApiCalls
from matins.domain.values.names import check_name
from matins.domain.views import CalendarPage, JobPage

Page = TypeVar("Page", JobPage, CalendarPage)

PAGE: Final = 1000
"""How many entries are asked for at once where all are wanted."""


def all_of(team: str, kind: str) -> str:
    """Return the path of all that a team has; a name has no characters that would need encoding."""
    check_name("team", team)
    return f"/v1/teams/{team}/{kind}"


def one_of(team: str, kind: str, name: str) -> str:
    """Return the path of one of them."""
    check_name("name", name)
    return f"{all_of(team, kind)}/{name}"


def job_path(team: str, name: str) -> str:
    """Return the path of a job."""
    return one_of(team, "jobs", name)


def query_of(**parameters: str | int | UUID | datetime | None) -> dict[str, str]:
    """Return the parameters that are given, as they are written in a query; True as `true`."""
    return {
        name: value.isoformat() if isinstance(value, datetime) else _written(value)
        for name, value in parameters.items()
        if value is not None
    }


async def pages_of(
    calls: ApiCalls, kind: type[Page], path: str, query: Mapping[str, str] = MappingProxyType({})
) -> AsyncIterator[Page]:
    """Read all pages of a list."""
    after: str | None = None
    while True:
        page = await calls.ask(
            kind, "GET", path, query={**query, **query_of(after=after, limit=PAGE)}
        )
        yield page
        after = page.next
        if after is None:
            return


def _written(value: str | int | UUID) -> str:
    return "true" if value is True else str(value)
