"""Calls HTTP targets: one request on the wire for each attempt, under one deadline."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from functools import cached_property
from http import HTTPStatus
from importlib.metadata import version

import msgspec

from matins.domain.jobs.targets import HttpTarget
from matins.domain.runs.attempts import Attempt, Result
from matins.domain.runs.states import Outcome
from matins.executor.gateway_lease import GatewayLease
from matins.executor.http.body import Body
from matins.executor.http.response import Answer, NotHttpError
from matins.executor.http.retry_after import asked_wait_s
from matins.executor.masking import Mask, secrets_of
from matins.executor.news import News, Tell, tell_nobody
from matins.executor.output import TextStream, one_line
from matins.executor.targets.metadata import attempt_metadata
from matins.kernel.connection import ConnectError, connect, converse, tls_context
from matins.kernel.request import Origin, Url, read_url, request_bytes
from matins.kernel.resolver import AddressInfo, Resolver

LASTING = frozenset({400, 401, 403, 404, 405, 410, 422})
"""The statuses of 4xx that another attempt would get again."""

_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_USER_AGENT = f"matins/{version('matins')}"


class HttpRunner:
    """Sends an attempt's request on a connection of its own; a status of 2xx means success.

    No redirect is followed, no cookie kept, no proxy taken from the environment, and nothing is
    sent twice. Nothing is sent at all when `contact` with the gateway is lost: others may have gone
    on with the run.
    """

    def __init__(
        self, gateway_lease: GatewayLease, resolver: Resolver, secrets: Sequence[str] = ()
    ) -> None:
        """`secrets`: the executor's own, which are masked as those in the job's headers are."""
        self._gateway_lease = gateway_lease
        self._resolver = resolver
        self._secrets = secrets

    async def run(
        self, attempt: Attempt, cancel: asyncio.Event, tell: Tell = tell_nobody
    ) -> Result:
        """Send it and judge the answer, which is told as it comes."""
        target = attempt.target.http
        assert target is not None, "the attempt is for another runner"
        mask = Mask([*secrets_of(target.headers), *self._secrets])
        text = TextStream(mask)
        body = Body(lambda piece: tell(News(output=text.feed(piece))))
        answer = Answer(target.method, body)
        result = await self._run(attempt, target, answer, cancel)
        tell(News(output=text.feed(b"", is_end=True)))
        output, reason = result.output, mask.apply(result.reason)
        return msgspec.structs.replace(result, reason=reason, output=body.text(mask) + output)

    async def _run(
        self, attempt: Attempt, target: HttpTarget, answer: Answer, cancel: asyncio.Event
    ) -> Result:
        try:
            async with asyncio.timeout(attempt.timeout_s) as deadline:
                stopping = asyncio.create_task(_expire_when(cancel, deadline))
                try:
                    await self._exchange(attempt, target, answer, cancel)
                finally:
                    stopping.cancel()
        except TimeoutError:
            if cancel.is_set():
                return _result(answer, Outcome.CANCELLED, "cancelled")
            reason = f"no complete answer within {attempt.timeout_s:g} s"
            return _result(answer, Outcome.TIMED_OUT, reason)
        except _NotSentError as error:
            return _result(answer, error.outcome, str(error), permanent=error.permanent)
        except _BrokenOffError as error:
            return _result(answer, Outcome.FAILED, str(error))
        return _judged(answer)

    async def close(self) -> None:
        """Do nothing: each connection ends with its attempt."""

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return tls_context()

    async def _exchange(
        self, attempt: Attempt, target: HttpTarget, answer: Answer, cancel: asyncio.Event
    ) -> None:
        """Send the request and read its answer. Raises _NotSentError, _BrokenOffError."""
        url, request = _request(attempt, target)
        addresses = await self._addresses(url.origin, attempt.team)
        try:
            connection = await connect(url.origin, addresses, self._context)
        except ConnectError as error:
            message = f"no connection to {url.origin.host}:{url.origin.port}: {error}"
            raise _NotSentError(message) from error
        try:
            if self._gateway_lease.left_s() <= 0 or cancel.is_set():
                message = "the executor was out of touch with the gateway; nothing was sent"
                outcome = Outcome.CANCELLED if cancel.is_set() else Outcome.LOST
                raise _NotSentError(message, outcome=outcome)
            if not await converse(connection, request, answer):
                raise _BrokenOffError(_break(answer))
        except NotHttpError as error:
            raise _BrokenOffError(f"the answer is not HTTP: {error}") from error
        except OSError as error:
            raise _BrokenOffError(_break(answer, error)) from error
        finally:
            connection.close()

    async def _addresses(self, origin: Origin, team: str) -> list[AddressInfo]:
        """Return the only addresses to which the request may go: here they can be refused."""
        try:
            return await self._resolver.resolve(origin.host, origin.port, team)
        except OSError as error:
            message = f"the name {origin.host} can't be resolved: {error.strerror or error}"
            raise _NotSentError(message) from error


class _NotSentError(Exception):
    """Nothing of the request has left."""

    def __init__(
        self, message: str, *, outcome: Outcome = Outcome.FAILED, permanent: bool = False
    ) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.permanent = permanent


class _BrokenOffError(Exception):
    """The request went out, or part of it, and there is no whole answer."""


def _break(answer: Answer, error: OSError | None = None) -> str:
    message = f": {error.strerror or error}" if error else ""
    if answer.status is None:
        return f"the connection was lost before an answer{message}"
    return f"the answer broke off{message}"


def _judged(answer: Answer) -> Result:
    """Return the result that a whole answer means: its status decides."""
    status = answer.status
    assert status is not None, "a whole answer has a status"
    if 200 <= status < 300:
        return _result(answer, Outcome.SUCCEEDED)
    if 300 <= status < 400:
        reason = (
            f"HTTP {status}: redirect to {answer.headers.get('location') or 'nowhere'} not followed"
        )
        return _result(answer, Outcome.FAILED, reason, permanent=True)
    reason = f"HTTP {status} {_PHRASES.get(status, '')}".rstrip()
    return _result(answer, Outcome.FAILED, reason, permanent=status in LASTING)


def _result(
    answer: Answer, outcome: Outcome, reason: str = "", *, permanent: bool = False
) -> Result:
    """Return a result with the notes on whatever has come."""
    notes = "".join(f"\n[{one_line(note)}]\n" for note in answer.notes)
    return Result(
        outcome,
        one_line(reason),
        permanent=permanent,
        output=notes,
        output_cut=answer.body.cut,
        http_status=answer.status,
        retry_after_s=asked_wait_s(answer.headers) if outcome is Outcome.FAILED else 0.0,
    )


def _request(attempt: Attempt, target: HttpTarget) -> tuple[Url, bytes]:
    """Return where a request goes and what it is. Raises _NotSentError."""
    body = msgspec.json.encode(target.body) if target.body is not None else None
    if isinstance(target.body, str):
        body = target.body.encode()
    try:
        url = read_url(target.url)
        return url, request_bytes(target.method, url, _headers(attempt, target), body)
    except ValueError as error:
        message = f"the request can't be made: {error}"
        raise _NotSentError(message, permanent=True) from error


def _headers(attempt: Attempt, target: HttpTarget) -> dict[str, str]:
    """Return the job's headers between our defaults and what names the attempt."""
    named = {f"Matins-{name}": value for name, value in attempt_metadata(attempt).items()}
    named["Idempotency-Key"] = str(attempt.run_id)
    defaults = {"User-Agent": _USER_AGENT, "Accept": "*/*", "Accept-Encoding": "identity"}
    if target.body is not None:
        is_text = isinstance(target.body, str)
        defaults["Content-Type"] = "text/plain; charset=utf-8" if is_text else "application/json"
    headers: dict[str, tuple[str, str]] = {}
    for source in (defaults, target.headers, named):
        headers |= {name.lower(): (name, value) for name, value in source.items()}
    return dict(headers.values())


async def _expire_when(cancel: asyncio.Event, deadline: asyncio.Timeout) -> None:
    await cancel.wait()
    if not deadline.expired():
        deadline.reschedule(0.0)
