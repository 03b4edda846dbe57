"""HTTP calls to the owners' side of the API: JSON both ways, refusals as the domain's errors."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import urlencode

import msgspec

from matins.client.refusals import UnreachableError, refusal
from matins.domain.values.errors import MatinsError, SettingsError, UnavailableError
from matins.kernel.addresses import token_fault
from matins.kernel.connection import ConnectError
from matins.kernel.http_client import HttpClient, LostAnswerError

CALL_S = 60.0
"""The longest that a call may take; the audit of a long window takes some seconds."""

SILENT_S = 45.0
"""The longest that an answer may be silent that goes on: three signs of life are missing then."""

T = TypeVar("T")


class ApiCalls:
    """Calls the API at one of its addresses, separated by commas, in their order.

    The next address is tried only where no connection could be made: whatever was sent may have
    been done, and then it is for the caller to look and to decide (UnavailableError).
    """

    def __init__(self, url: str, token: str) -> None:
        self._urls = [part.strip().rstrip("/") for part in url.split(",") if part.strip()]
        if not self._urls:
            raise SettingsError("the URL of the API is empty; write it as http://127.0.0.1:8600")
        if fault := token_fault(token):
            raise SettingsError(f"the token for the API {fault}")
        self._http = HttpClient({"Authorization": f"Bearer {token}", "Accept": "application/json"})

    @property
    def url(self) -> str:
        """The first address."""
        return self._urls[0]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        self._http.close()

    async def ask(
        self,
        kind: type[T],
        method: str,
        path: str,
        *,
        content: msgspec.Struct | None = None,
        query: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
    ) -> T:
        """Make one call and read its answer. Raises the error that the API's refusal stands for."""
        url, status, body = await self.exchange(
            method, path, content=content, query=query, headers=headers
        )
        if status not in (200, 201, 202):
            raise refusal(status, body, f"{method} {url}{path}")
        try:
            return msgspec.json.decode(body, type=kind)
        except msgspec.DecodeError as error:
            raise UnavailableError(f"the answer of {url} can't be read: {error}") from error

    async def exchange(
        self,
        method: str,
        path: str,
        *,
        content: msgspec.Struct | None = None,
        query: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[str, int, bytes]:
        """Make one call; gives who answered, the status and the body."""
        body = None if content is None else msgspec.json.encode(content)
        typed = {} if content is None else {"Content-Type": "application/json"}
        sent = typed | (headers or {})
        asked = f"{path}?{urlencode(query)}" if query else path
        faults = []
        for url in self._urls:
            try:
                return url, *await self._http.exchange(method, url + asked, body, CALL_S, sent)
            except ConnectError as error:
                faults.append(f"the API at {url} can't be reached: {error}")
            except (ValueError, LostAnswerError) as error:
                raise _fault(url, error) from error
        raise UnreachableError("; ".join(faults))

    async def read_text(self, path: str, query: dict[str, str]) -> str:
        """GET a text. Raises the error that the API's refusal stands for."""
        url, status, body = await self.exchange("GET", path, query=query)
        if status != 200:
            raise refusal(status, body, f"GET {url}{path}")
        return body.decode("utf-8", "replace")

    @asynccontextmanager
    async def stream(
        self, path: str, query: dict[str, str], headers: dict[str, str]
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """GET what goes on, in pieces. Raises the error that the API's refusal stands for, and
        UnavailableError where it breaks off.
        """
        asked = f"{path}?{urlencode(query)}" if query else path
        faults = []
        for url in self._urls:
            try:
                async with self._http.stream(url + asked, SILENT_S, headers) as (status, pieces):
                    if status != 200:
                        body = b"".join([piece async for piece in pieces])
                        raise refusal(status, body, f"GET {url}{path}")
                    yield pieces
                    return
            except ConnectError as error:
                faults.append(f"the API at {url} can't be reached: {error}")
            except (ValueError, LostAnswerError) as error:
                raise _fault(url, error) from error
        raise UnreachableError("; ".join(faults))


def _fault(url: str, error: Exception) -> MatinsError:
    if isinstance(error, ValueError):
        return SettingsError(f"{url!r} is no address of an API; write it as http://127.0.0.1:8600")
    return UnavailableError(f"the API at {url} gave no answer: {error}")
