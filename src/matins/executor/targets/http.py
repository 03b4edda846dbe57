"""Calls HTTP targets: one request on the wire for each attempt, under one deadline."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from importlib.metadata import version

import aiohttp
import msgspec

from matins.domain.attempts import Attempt, Result
from matins.domain.runs import Outcome
from matins.domain.targets import HttpTarget
from matins.executor.output import HeadTail, one_line
from matins.executor.targets.facts import facts

BODY_KEPT = 64 * 1024
"""How much of an answer's body is kept, in bytes."""

BODY_READ = 1024 * 1024
"""How much of an answer's body is read, in bytes after inflating; then the connection is closed."""

LASTING = frozenset({400, 401, 403, 404, 405, 410, 422})
"""The statuses of 4xx that another attempt would get again."""

_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_USER_AGENT = f"matins/{version('matins')}"


class HttpRunner:
    """Sends an attempt's request on a connection of its own; a status of 2xx means success.

    No redirect is followed, no cookie kept, no proxy taken from the environment.
    """

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def run(self, attempt: Attempt, cancel: asyncio.Event) -> Result:
        """Send it and judge the answer."""
        target = attempt.target.http
        assert target is not None, "the attempt is for another runner"
        answer = _Answer()
        try:
            async with asyncio.timeout(attempt.timeout_s) as deadline:
                stopping = asyncio.create_task(_expire_when(cancel, deadline))
                try:
                    await self._exchange(attempt, target, answer)
                finally:
                    stopping.cancel()
        except TimeoutError:
            if cancel.is_set():
                return answer.result(Outcome.CANCELLED, "cancelled")
            reason = f"no complete answer within {attempt.timeout_s:g} s"
            return answer.result(Outcome.TIMED_OUT, reason)
        except (aiohttp.ClientError, _NoAnswerError, OSError, ValueError) as error:
            reason, permanent = _fault(error)
            return answer.result(Outcome.FAILED, reason, permanent=permanent)
        return answer.judged()

    async def close(self) -> None:
        """Close every connection."""
        if self._session:
            await self._session.close()

    async def _exchange(self, attempt: Attempt, target: HttpTarget, answer: _Answer) -> None:
        self._session = self._session or _open_session()
        body = target.body
        async with self._session.request(
            target.method,
            target.url,
            headers=_headers(attempt, target),
            data=msgspec.json.encode(body) if isinstance(body, dict | list) else body,
            allow_redirects=False,
        ) as response:
            answer.status = response.status
            answer.location = response.headers.get("Location", "")
            async for chunk in response.content.iter_any():
                answer.body.append(chunk)
                if answer.body.total > BODY_READ:
                    answer.is_left_unread = True
                    response.close()
                    break


class _Answer:
    """What has come of an answer so far."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.location = ""
        self.body = HeadTail(BODY_KEPT, 0)
        self.is_left_unread = False

    def judged(self) -> Result:
        """The result that a complete answer means."""
        status = self.status
        assert status is not None
        if 200 <= status < 300:
            return self.result(Outcome.SUCCEEDED)
        if 300 <= status < 400:
            reason = f"HTTP {status}: redirect to {self.location or 'nowhere'} not followed"
            return self.result(Outcome.FAILED, reason, permanent=True)
        reason = f"HTTP {status} {_PHRASES.get(status, '')}".rstrip()
        return self.result(Outcome.FAILED, reason, permanent=status in LASTING)

    def result(self, outcome: Outcome, reason: str = "", *, permanent: bool = False) -> Result:
        """A result with whatever has come."""
        unread = "\n[the rest of the body was not read]\n" if self.is_left_unread else ""
        return Result(
            outcome,
            one_line(reason),
            permanent=permanent,
            output=self.body.text() + unread,
            output_cut=self.body.cut,
            http_status=self.status,
        )


class _NoAnswerError(Exception):
    """The request went out, or part of it, and no answer came."""


async def _send_once(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Keep aiohttp from sending GET, HEAD, PUT, DELETE, … again after a lost answer.

    It does so for two of its exceptions, whether or not the connection was new, and has no public
    switch for it: so neither gets through.
    """
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _NoAnswerError(f"the connection was lost before an answer: {error}") from error


def _open_session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(force_close=True, limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None),
        middlewares=(_send_once,),
        trust_env=False,
    )


def _headers(attempt: Attempt, target: HttpTarget) -> dict[str, str]:
    """The job's headers between our defaults and what names the attempt."""
    named = {f"Matins-{name}": value for name, value in facts(attempt).items()}
    named["Idempotency-Key"] = str(attempt.run_id)
    defaults = {"User-Agent": _USER_AGENT}
    if isinstance(target.body, dict | list):
        defaults["Content-Type"] = "application/json"
    headers: dict[str, tuple[str, str]] = {}
    for source in (defaults, target.headers, named):
        headers |= {name.lower(): (name, value) for name, value in source.items()}
    return dict(headers.values())


async def _expire_when(cancel: asyncio.Event, deadline: asyncio.Timeout) -> None:
    await cancel.wait()
    if not deadline.expired():
        deadline.reschedule(0.0)


def _fault(error: Exception) -> tuple[str, bool]:
    """Say in one line why there is no answer, and whether another attempt would fare the same."""
    match error:
        case aiohttp.ClientConnectorError():
            return _unreached(error), False
        case aiohttp.ClientPayloadError():
            return f"the answer broke off: {error}", False
        case aiohttp.ClientResponseError():
            return f"the answer is not HTTP: {error.message}", False
        case ValueError():  # aiohttp.InvalidURL is one, too
            return f"the request can't be made: {error}", True
    return str(error) or type(error).__name__, False


def _unreached(error: aiohttp.ClientConnectorError) -> str:
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return f"TLS: {error.host} is not trusted: {error.certificate_error}"
        case aiohttp.ClientSSLError():
            return f"TLS with {error.host}:{error.port} failed: {error.os_error}"
        case aiohttp.ClientConnectorDNSError():
            return f"the name {error.host} can't be resolved: {error.os_error.strerror}"
    return f"no connection to {error.host}:{error.port}: {error.os_error.strerror}"
