"""How a command finds the API, and names as people type them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import typer

from matins.cli.showing import print_json, tell
from matins.client.refusals import UnreachableError
from matins.client.sdk import Matins
from matins.domain.values.errors import SettingsError, UnauthorizedError
from matins.domain.values.names import DEFAULT_TEAM
from matins.engines.endpoints import Endpoints
from matins.kernel.settings import read_settings

Named = Annotated[str, typer.Argument(metavar="TEAM/NAME", help="NAME alone is in team default.")]

T = TypeVar("T")


def with_api(work: Callable[[Matins], Awaitable[T]]) -> T:
    """Do some work with the API that the settings or the data folder name.

    Raises UnreachableError that says where it was looked for and how to start one.
    """
    settings = read_settings()
    endpoints = Endpoints(settings)
    try:
        url = endpoints.api_url()
    except SettingsError as error:
        raise UnreachableError(str(error)) from error
    source = "MATINS_URL" if settings.url else f"the data folder {endpoints.data}"

    async def connected() -> T:
        async with Matins(url, endpoints.admin_token()) as client:
            try:
                return await work(client)
            except UnreachableError as error:
                message = f"{error} (the address is from {source}); start it with `matins up`"
                raise UnreachableError(message) from error
            except UnauthorizedError as error:
                message = f"{error}; set MATINS_TOKEN, or MATINS_DATA to the API's data folder"
                raise UnauthorizedError(message) from error

    return asyncio.run(connected())


def change(
    work: Callable[[Matins], Awaitable[T]], words: Callable[[T], str], *, as_json: bool
) -> None:
    """Change something with the API, and tell what became of it in words or as JSON."""
    answer = with_api(work)
    if as_json:
        print_json(answer)
    else:
        tell(words(answer))


def split_name(text: str) -> tuple[str, str]:
    """Team and name of what is written as TEAM/NAME, or as NAME alone."""
    team, slash, name = text.rpartition("/")
    return (team, name) if slash else (DEFAULT_TEAM, text)
