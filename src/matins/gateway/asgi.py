"""The executors' side of the API, as one raw ASGI application: poll, report, heartbeat, output."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from random import Random
from typing import NamedTuple

import msgspec
import structlog

from matins.domain.executors.protocol import Handout, Heartbeat, Output, Poll, Report
from matins.domain.ports import Clock, Dispatch, Hints, StatusCache
from matins.domain.ports.output import KeptOutput, LiveOutput
from matins.domain.values.errors import (
    MatinsError,
    NotFoundError,
    UnauthorizedError,
    problem_details,
)
from matins.gateway.checks import check_poll
from matins.gateway.handout import Dispatcher
from matins.gateway.heartbeat import HeartbeatReceiver
from matins.gateway.output import OutputReceiver
from matins.gateway.report import Recorder
from matins.gateway.starts import StartsCounter
from matins.gateway.wire import (
    answer,
    decode,
    header,
    media_type,
    read_body,
)
from matins.kernel.http import DisconnectedError, MethodError, Receive, Scope, Send, respond_problem
from matins.kernel.service import Service
from matins.kernel.settings import Settings

log = structlog.get_logger()

PREFIX = "/v1/executors/"
"""The paths that belong to the gateway."""


class GatewayPorts(NamedTuple):
    """What a gateway stands on."""

    dispatch: Dispatch
    hints: Hints
    cache: StatusCache
    live: LiveOutput
    kept: KeptOutput


class Gateway:
    """Answers executors at POST /v1/executors/poll, report, heartbeat and output; see
    executor-protocol.md."""

    def __init__(
        self,
        ports: GatewayPorts,
        clock: Clock,
        rng: Random,
        executor_token: str,
        settings: Settings,
    ) -> None:
        assert executor_token, "an empty token would let everybody in"
        dispatch, hints, cache, live, kept = ports
        self._starts = StartsCounter(dispatch, clock)
        self._dispatcher = Dispatcher(dispatch, self._starts, hints, clock, settings.poll_s)
        self._recorder = Recorder(dispatch, cache, hints, rng)
        self._heartbeats = HeartbeatReceiver(dispatch)
        self._outputs = OutputReceiver(live, kept)
        self._credentials = b"Bearer " + executor_token.encode()
        self._handlers: dict[str, Callable[[Receive, bytes, str], Awaitable[msgspec.Struct]]] = {
            "poll": self._poll,
            "report": self._report,
            "heartbeat": self._heartbeat,
            "output": self._output,
        }

    def services(self) -> list[Service]:
        """Return what must run beside the handlers."""
        return [self._starts, self._recorder, self._dispatcher]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        assert scope["type"] == "http", "only HTTP is routed here"
        try:
            await self._respond(scope, receive, send)
        except DisconnectedError:
            log.debug("executor.disconnected", path=scope["path"])
        except MatinsError as error:
            await respond_problem(send, problem_details(error), error)
        except Exception:
            log.exception("gateway.failed", path=scope["path"])
            failure = MatinsError("the gateway failed; its log says why")
            await respond_problem(send, problem_details(failure))

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        handler = self._handlers.get(scope["path"].removeprefix(PREFIX))
        if handler is None:
            raise NotFoundError(f"nothing is at {scope['path']}")
        if scope["method"] != "POST":
            raise MethodError(scope["method"], ["POST"])
        if not hmac.compare_digest(header(scope, b"authorization"), self._credentials):
            raise UnauthorizedError("the executors' token is missing or wrong")
        media = media_type(scope)
        body = await read_body(scope, receive)
        await answer(send, await handler(receive, body, media), media)

    async def _poll(self, receive: Receive, body: bytes, media: str) -> Handout:
        poll = decode(Poll, body, media)
        check_poll(poll)
        return await _unless_disconnected(self._dispatcher.poll(poll), receive)

    async def _report(self, _receive: Receive, body: bytes, media: str) -> msgspec.Struct:
        return await self._recorder.report(decode(Report, body, media))

    async def _heartbeat(self, _receive: Receive, body: bytes, media: str) -> msgspec.Struct:
        return await self._heartbeats.heartbeat(decode(Heartbeat, body, media))

    async def _output(self, _receive: Receive, body: bytes, media: str) -> msgspec.Struct:
        return await self._outputs.output(decode(Output, body, media))


async def _unless_disconnected(poll: Awaitable[Handout], receive: Receive) -> Handout:
    """Wait for the answer; drop the poll and raise DisconnectedError if its client goes first."""
    answering = asyncio.ensure_future(poll)
    leaving = asyncio.ensure_future(receive())  # after the body, only http.disconnect can come
    try:
        await asyncio.wait([answering, leaving], return_when=asyncio.FIRST_COMPLETED)
        if answering.done():
            return answering.result()
        raise DisconnectedError
    finally:
        answering.cancel()
        leaving.cancel()
        await asyncio.gather(answering, leaving, return_exceptions=True)
