"""Serving ASGI applications as services, and the small one that every role without an API has."""

from __future__ import annotations

import os
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
import structlog
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from matins.domain.values.errors import (
    MatinsError,
    ProblemDetails,
    SettingsError,
    TooManyRequestsError,
    UnauthorizedError,
    UnavailableError,
)
from matins.kernel.metrics import exposition
from matins.kernel.settings import variable

log = structlog.get_logger()

PROBLEM_TYPE = "application/problem+json"
RETRY_AFTER_S = 1

SAFE_METHODS = ("GET", "HEAD")
"""Methods that change nothing."""

DROP = "matins.drop"
"""Among the extensions of a scope: cuts the connection, with all that waits to be sent."""

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class DisconnectedError(MatinsError):
    """The client hung up, so nobody reads an answer. Nothing that it began is done."""

    code = "disconnected"
    status = 400
    title = "The request broke off"

    def __init__(self) -> None:
        super().__init__("the client hung up before the end of its request")


class MethodError(MatinsError):
    """The path is right, and this is no method of it."""

    code = "method"
    status = 405
    title = "The method is not allowed"

    def __init__(self, method: str, allowed: Sequence[str]) -> None:
        self.allowed = ", ".join(allowed)
        super().__init__(f"{method[:40]} is not allowed here; use {self.allowed}")


class HttpServer:
    """Serves an application on a socket that is bound at once, so that its port is known."""

    def __init__(
        self, app: App, host: str, port: int, *, setting: str = "port", drain_s: int = 5
    ) -> None:
        """Raise SettingsError when nothing can listen there; `setting` has said which port."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._socket = socket.create_server((host, port), family=family, backlog=2048)
        except (OSError, UnicodeError) as error:
            raise SettingsError(
                f"{variable(setting)}: nothing can listen on {host}, port {port}: {_told(error)};"
                " choose another port, or 0 for a free one"
            ) from error
        # Connections inherit it. Without, a small answer may wait for the other side's late ACK.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        name = f"[{host}]" if ":" in host else host
        self.url = f"http://{name}:{self._socket.getsockname()[1]}"
        config = uvicorn.Config(
            app,
            http=_Protocol,
            loop="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            log_level="warning",
            server_header=False,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=drain_s,
        )
        self._server = _QuietServer(config)

    async def run(self) -> None:
        """Serve until stopped."""
        log.info("http.listening", url=self.url)
        await self._server.serve(sockets=[self._socket])

    async def stop(self) -> None:
        """Take no more requests and end soon."""
        self._server.should_exit = True


def _told(error: Exception) -> str:
    """Return the operating system's word for it; `create_server` adds to that what we say
    ourselves.
    """
    number = getattr(error, "errno", None)
    return os.strerror(number) if number and number > 0 else str(error).partition(" (while")[0]


class _Protocol(HttpToolsProtocol):
    """Lets an application cut its connection: closing waits until all is read."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {DROP: self.transport.abort}  # type: ignore[dict-item] # ours


class _QuietServer(uvicorn.Server):
    """Leaves the signals to the role."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def health_app(ready: Callable[[], Awaitable[bool]]) -> App:
    """`/health`: the process turns. `/ready`: it can do its work. `/metrics`: Prometheus's text."""

    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        status, body = 404, b"not found\n"
        if scope["path"] == "/health":
            status, body = 200, b"ok\n"
        elif scope["path"] == "/ready":
            status, body = (200, b"ready\n") if await ready() else (503, b"not ready\n")
        elif scope["path"] == "/metrics":
            status, body = 200, exposition()
        await respond(send, status, body)

    return app


def whole_body(receive: Receive) -> Receive:
    """Raise DisconnectedError where a body ends before its end."""
    is_whole = False

    async def receive_body() -> MutableMapping[str, Any]:
        nonlocal is_whole
        message = await receive()
        if message["type"] == "http.disconnect" and not is_whole:
            raise DisconnectedError
        is_whole = not message.get("more_body", False)
        return message

    return receive_body


async def respond(
    send: Send,
    status: int,
    body: bytes,
    content_type: bytes = b"text/plain; charset=utf-8",
    headers: Mapping[str, str] | None = None,
) -> None:
    """Send a whole answer."""
    all_headers = [(b"content-type", content_type), (b"content-length", b"%d" % len(body))]
    all_headers += [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
    await send({"type": "http.response.start", "status": status, "headers": all_headers})
    await send({"type": "http.response.body", "body": body})


async def respond_problem(
    send: Send, problem: ProblemDetails, error: Exception | None = None
) -> None:
    """Send what is told of an error as RFC 9457 says."""
    body = msgspec.json.encode(problem)
    headers = problem_headers(problem)
    if isinstance(error, MethodError):
        headers["allow"] = error.allowed
    await respond(send, problem.status, body, PROBLEM_TYPE.encode(), headers)


def problem_headers(problem: ProblemDetails) -> dict[str, str]:
    """Return the headers that go with an error, beside the media type."""
    if problem.status in (UnavailableError.status, TooManyRequestsError.status):
        return {"retry-after": str(RETRY_AFTER_S)}
    if problem.status == UnauthorizedError.status:
        return {"www-authenticate": "Bearer"}
    return {}
