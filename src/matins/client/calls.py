"""HTTP calls to the owners' side of the API: JSON both ways, refusals as the domain's errors."""

from __future__ import annotations

from types import TracebackType
from typing import Self, TypeVar

import aiohttp
import msgspec

from matins.client.refusals import UnreachableError, refusal
from matins.domain.values.errors import SettingsError, UnavailableError

CALL_S = 60.0
"""The longest that a call may take; the audit of a long window takes some seconds."""

CONNECT_S = 5.0

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
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self._session: aiohttp.ClientSession | None = None

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
        if self._session:
            await self._session.close()
            self._session = None

    async def ask(
        self,
        kind: type[T],
        method: str,
        path: str,
        *,
        said: msgspec.Struct | None = None,
        query: dict[str, str] | None = None,
    ) -> T:
        """Make one call and read its answer. Raises the error that the API's refusal stands for."""
        url, status, body = await self.exchange(method, path, said=said, query=query)
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
        said: msgspec.Struct | None = None,
        query: dict[str, str] | None = None,
    ) -> tuple[str, int, bytes]:
        """Make one call; gives who answered, the status and the body."""
        faults = []
        for url in self._urls:
            try:
                status, body = await self._send(method, url + path, said, query)
            except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
                raise SettingsError(
                    f"{url!r} is no address of an API; write it as http://127.0.0.1:8600"
                ) from error
            except aiohttp.ClientConnectorError as error:
                faults.append(f"the API at {url} can't be reached: {_told(error)}")
            except (aiohttp.ClientError, OSError, TimeoutError) as error:
                raise UnavailableError(
                    f"the API at {url} gave no answer: {_told(error)}"
                ) from error
            else:
                return url, status, body
        raise UnreachableError("; ".join(faults))

    async def _send(
        self, method: str, url: str, said: msgspec.Struct | None, query: dict[str, str] | None
    ) -> tuple[int, bytes]:
        session = self._session = self._session or self._open_session()
        async with session.request(
            method,
            url,
            params=query,
            data=None if said is None else msgspec.json.encode(said),
            headers=None if said is None else {"Content-Type": "application/json"},
            allow_redirects=False,
        ) as response:
            return response.status, await response.read()

    def _open_session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            headers=self._headers,
            timeout=aiohttp.ClientTimeout(total=CALL_S, sock_connect=CONNECT_S),
            cookie_jar=aiohttp.DummyCookieJar(),
        )


def _told(error: BaseException) -> str:
    """An operating system's word for it, where there is one: aiohttp's own repeats the address."""
    cause = getattr(error, "os_error", None)
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    return str(error) or type(error).__name__
