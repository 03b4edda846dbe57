"""The web page as one ASGI application: assets, who is signed in, and pages for those who are."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from datetime import datetime
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from matins.api.dependencies import Dependencies
from matins.api.principals import Principals, note_principal
from matins.domain.values.errors import NotFoundError, UnavailableError
from matins.kernel.clock import HostClock
from matins.kernel.http import SAFE_METHODS, Receive, Scope, Send, respond, whole_body
from matins.web import assets, live
from matins.web.sessions import NOW, SESSION, SIGN_IN, Sessions

if TYPE_CHECKING:
    from matins.web.site import Site

_CONTENT_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    b" form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = [
    (b"content-security-policy", _CONTENT_POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]
"""What keeps a page from doing what it was not written to do."""


class Web:
    """Answers browsers. It runs as a service, too: stopped, it ends all live streams.

    The pages are imported and built once somebody asks for one: it takes a third of a second, and
    most APIs never see a browser.
    """

    def __init__(self, dependencies: Dependencies, principals: Principals, rng: Random) -> None:
        self._sessions = Sessions(principals, rng)
        self._dependencies = dependencies
        self._principals = principals
        self._building = asyncio.Lock()
        self._site: Site | None = None
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Serve until stopped."""
        await self._stopping.wait()

    async def stop(self) -> None:
        """End all live streams."""
        self._stopping.set()
        if self._site is not None:
            self._site.live.stop()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. Raises what the API's front answers as a problem."""
        path: str = scope["path"]
        if path.startswith(assets.PREFIX):
            await assets.serve_asset(scope, send)
            return
        if path == "/favicon.ico":  # as browsers ask for, beside a text or a picture
            await respond(send, 302, b"", headers={"location": assets.asset_url("icon.svg")})
            return
        send = _secured(send)
        session = self._sessions.of(scope)
        if session is None and not path.startswith(SIGN_IN):
            await _ask_to_sign_in(scope, send)
            return
        if session is not None:
            scope[SESSION] = session
            note_principal(scope, session.principal)
        site = await self._built()
        if path.startswith(live.PREFIX):
            await site.live(scope, receive, send)
            return
        scope[NOW] = await self._now()
        await site.pages(scope, whole_body(receive), send)  # type: ignore[arg-type] # the same messages

    async def _built(self) -> Site:
        async with self._building:
            if self._site is None:  # built in a thread, or all others would wait
                self._site = await asyncio.to_thread(self._build)
                if self._stopping.is_set():
                    self._site.live.stop()
        return self._site

    def _build(self) -> Site:
        from matins.web.site import build_site  # noqa: PLC0415 # see above

        return build_site(self._dependencies, self._principals, self._sessions)

    async def _now(self) -> datetime:
        """Return the database's time; the host's where it can't be asked, as the page then says."""
        try:
            return await self._dependencies.reads.now()
        except UnavailableError:
            return HostClock().now()


async def _ask_to_sign_in(scope: Scope, send: Send) -> None:
    """Lead a browser to signing in; tell anybody else that there is nothing for it."""
    if not _wants_page(scope):
        raise NotFoundError(f"nothing is at {scope['path'][:200]}")
    asked = f"{scope['path']}?{scope['query_string'].decode('latin-1')}".removesuffix("?")
    back = f"?next_path={quote(asked)}" if scope["method"] in SAFE_METHODS and asked != "/" else ""
    headers = {"location": f"/sign-in{back}", "hx-redirect": f"/sign-in{back}"}
    await respond(send, 303, b"", headers=headers)


def _wants_page(scope: Scope) -> bool:
    header = next((value for key, value in scope["headers"] if key == b"accept"), b"")
    return b"text/html" in header or b"text/event-stream" in header


def _secured(send: Send) -> Send:
    """Add to each answer what keeps a page from doing what it was not written to do."""

    async def send_secured(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *SECURITY_HEADERS]
        await send(message)

    return send_secured
