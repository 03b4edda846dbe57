"""What takes messages in tests: a real mail server, and a real receiver of webhooks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.message import Message
from email.parser import BytesParser
from typing import Any

import msgspec
from aiohttp import web
from aiosmtpd.smtp import SMTP, Envelope
from standardwebhooks import Webhook


class Hooks:
    """Webhooks that came, each with its headers; the answer is by `status`, after `slow_s`."""

    def __init__(self) -> None:
        self.status = 204
        self.slow_s = 0.0
        self.url = ""
        self.received: list[tuple[dict[str, str], bytes]] = []

    @property
    def events(self) -> list[dict[str, Any]]:
        """The bodies of those that were answered well, each once by its id."""
        once = {headers["webhook-id"]: body for headers, body in self.received}
        return [msgspec.json.decode(body) for body in once.values()]

    @property
    def turns(self) -> list[str]:
        """What each event told of."""
        return [event["data"]["turn"] for event in self.events]

    def verify(self, key: str) -> None:
        """Check the signature of all; raises for a wrong one."""
        for headers, body in self.received:
            Webhook(key).verify(body, headers)

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.read()
        await asyncio.sleep(self.slow_s)
        if self.status < 300:
            headers = {name.lower(): value for name, value in request.headers.items()}
            self.received.append((headers, body))
        return web.Response(status=self.status)


@asynccontextmanager
async def webhooks(port: int = 0) -> AsyncIterator[Hooks]:
    """A receiver of webhooks on a free port."""
    hooks = Hooks()
    app = web.Application()
    app.router.add_post("/hook", hooks.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    hooks.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    try:
        yield hooks
    finally:
        await runner.cleanup()


class Mails:
    """Mails that came, by a server that takes all."""

    def __init__(self) -> None:
        self.received: list[Message] = []
        self.port = 0

    async def handle_DATA(  # noqa: N802 # the name that aiosmtpd calls
        self, _server: object, _session: object, envelope: Envelope
    ) -> str:
        content = envelope.content
        assert isinstance(content, bytes)
        self.received.append(BytesParser().parsebytes(content))
        return "250 OK"

    @property
    def url(self) -> str:
        """What Apprise sends to it by."""
        return f"mailto://127.0.0.1:{self.port}?from=matins@example.com&to=oncall@example.com"


@asynccontextmanager
async def mail_server(port: int = 0) -> AsyncIterator[Mails]:
    """A mail server on a free port."""
    mails = Mails()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(mails, loop=loop), "127.0.0.1", port)
    mails.port = server.sockets[0].getsockname()[1]
    try:
        yield mails
    finally:
        server.close()


def body_of(mail: Message) -> str:
    """Return the text of a mail."""
    parts = [part for part in mail.walk() if part.get_content_type() == "text/plain"]
    content = (parts or [mail])[0].get_payload(decode=True)
    assert isinstance(content, bytes)
    return content.decode()
