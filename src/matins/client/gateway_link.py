"""The executor's way to a gateway by HTTP, in MessagePack. See docs/executor-protocol.md."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from typing import TypeVar

import msgspec
import structlog

from matins.domain.executors.protocol import (
    Handout,
    Heartbeat,
    HeartbeatAnswer,
    Output,
    OutputAnswer,
    Poll,
    Report,
    ReportAnswer,
)
from matins.domain.values.errors import (
    InvalidInputError,
    MatinsError,
    Problem,
    ProblemDetails,
    UnauthorizedError,
    UnavailableError,
)
from matins.kernel.connection import ConnectError
from matins.kernel.http_client import HttpClient, LostAnswerError

log = structlog.get_logger()

CALL_S = 10.0
"""The longest that a call may take, on top of the time that a poll waits."""

_MEDIA = "application/msgpack"
_REFUSED = frozenset({400, 413, 415, 422})
_LATER = frozenset({408, 421, 425, 429})

T = TypeVar("T", bound=msgspec.Struct)


class HttpGatewayLink:
    """Calls a gateway at one of its addresses; after a failure the next address is used.

    An answer that is lost, late, unreadable or 5xx raises UnavailableError: the outcome is unknown,
    and it is for the caller to repeat the call.
    """

    def __init__(
        self,
        urls: str | Sequence[str],
        token: str,
        *,
        call_s: float = CALL_S,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`tls`: what to trust instead of the host's certificate authorities."""
        addresses = [urls] if isinstance(urls, str) else list(urls)
        assert addresses, "a link needs an address"
        self._urls = [url.rstrip("/") for url in addresses]
        headers = {"Authorization": f"Bearer {token}", "Content-Type": _MEDIA}
        self._http = HttpClient(headers, tls)
        self._call_s = call_s

    async def poll(self, poll: Poll) -> Handout:
        """See `domain.ports.GatewayLink`."""
        return await self._call("poll", poll, Handout, poll.wait_s + self._call_s)

    async def report(self, report: Report) -> ReportAnswer:
        """See `domain.ports.GatewayLink`."""
        return await self._call("report", report, ReportAnswer, self._call_s)

    async def heartbeat(self, heartbeat: Heartbeat) -> HeartbeatAnswer:
        """See `domain.ports.GatewayLink`."""
        return await self._call("heartbeat", heartbeat, HeartbeatAnswer, self._call_s)

    async def output(self, output: Output) -> OutputAnswer:
        """See `domain.ports.GatewayLink`."""
        return await self._call("output", output, OutputAnswer, self._call_s)

    async def close(self) -> None:
        """Close the connections."""
        self._http.close()

    async def _call(self, name: str, message: msgspec.Struct, kind: type[T], limit_s: float) -> T:
        """Make one call. Raises UnavailableError, UnauthorizedError, InvalidInputError."""
        url = self._urls[0]
        body = msgspec.msgpack.encode(message)
        try:
            answer = await self._http.exchange("POST", f"{url}/v1/executors/{name}", body, limit_s)
            return _read(*answer, kind, url)
        except (ConnectError, LostAnswerError) as error:
            self._turn_from(url)
            raise UnavailableError(f"the gateway at {url} can't be reached: {error}") from error
        except UnavailableError:
            self._turn_from(url)
            raise

    def _turn_from(self, url: str) -> None:
        """Let the next call use another address, unless another call has seen to it."""
        if len(self._urls) > 1 and self._urls[0] == url:
            self._urls = [*self._urls[1:], url]
            log.info("gateway.changed", url=self._urls[0])


def _read(status: int, body: bytes, kind: type[T], url: str) -> T:
    if status == 200:
        try:
            return msgspec.msgpack.decode(body, type=kind)
        except msgspec.DecodeError as error:
            raise UnavailableError(f"the answer of {url} can't be read: {error}") from error
    refusal = _read_refusal(status, body)
    message = f"HTTP {status} from {url}: {refusal.detail}"
    if status in (401, 403):
        raise UnauthorizedError(f"{message}; set MATINS_TOKEN to the executors' token")
    if status in _REFUSED:
        raise InvalidInputError(refusal.errors or [Problem("", message)])
    if status >= 500 or status in _LATER:
        raise UnavailableError(message)
    raise MatinsError(f"{message}; is it the address of a Matins API?")


def _read_refusal(status: int, body: bytes) -> ProblemDetails:
    try:
        return msgspec.json.decode(body, type=ProblemDetails)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ProblemDetails("", "", status, body[:200].decode("utf-8", "replace"))
