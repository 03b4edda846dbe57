"""The web page as one ASGI application: assets, signing in, and what needs a session."""

from __future__ import annotations

import hmac
from collections.abc import MutableMapping
from datetime import datetime
from random import Random
from typing import Any
from urllib.parse import quote, urlsplit

from litestar import Litestar, Response
from litestar.datastructures import State
from litestar.di import Provide

from matins.api.dependencies import Dependencies
from matins.api.principals import Principals, note_principal
from matins.api.problems import BODY_MAX, details_of
from matins.domain.values.errors import ForbiddenError, NotFoundError, UnavailableError
from matins.kernel.clock import HostClock
from matins.kernel.http import Receive, Scope, Send, respond, whole_body
from matins.web import assets, live, signing_in
from matins.web.live import Live
from matins.web.pages import PAGES
from matins.web.rendering import NAVIGATION, NOW, SESSION, WebRequest, came_from, done, page
from matins.web.sessions import Sessions, WebSession

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

_SAFE = ("GET", "HEAD")


class Web:
    """Answers browsers. It runs as a service, too: stopped, it ends all live streams."""

    def __init__(self, dependencies: Dependencies, principals: Principals, rng: Random) -> None:
        self._sessions = Sessions(principals, rng)
        self._reads = dependencies.reads
        parts = [part for module in PAGES for part in module.LIVE]
        self._live = Live({part.name: part for part in parts}, dependencies)
        self._pages = Litestar(
            [signing_in.ROUTER, *(module.ROUTER for module in PAGES)],
            dependencies={
                **dependencies.provided(),
                "sessions": Provide(lambda: self._sessions, sync_to_thread=False),
                "principals": Provide(lambda: principals, sync_to_thread=False),
            },
            exception_handlers={Exception: _failed},
            before_request=_check_origin,
            request_max_body_size=BODY_MAX,
            openapi_config=None,
            state=State({NAVIGATION: [module.ITEM for module in PAGES if module.ITEM]}),
        )

    async def run(self) -> None:
        """Serve until stopped."""
        await self._live.run()

    async def stop(self) -> None:
        """End all live streams."""
        await self._live.stop()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. Raises what the API's front answers as a problem."""
        path: str = scope["path"]
        if path.startswith(assets.PREFIX):
            await assets.serve_asset(scope, send)
            return
        if path == "/favicon.ico":
            raise NotFoundError("the icon is named in each page")
        send = _secured(send)
        session = self._sessions.of(scope)
        if session is None and not path.startswith(signing_in.PREFIX):
            await _ask_to_sign_in(scope, send)
            return
        if session is not None:
            scope[SESSION] = session
            note_principal(scope, session.principal)
        if path.startswith(live.PREFIX):
            await self._live(scope, receive, send)
            return
        scope[NOW] = await self._now()
        await self._pages(scope, whole_body(receive), send)  # type: ignore[arg-type] # the same messages

    async def _now(self) -> datetime:
        """Return the database's time; the host's where it can't be asked, as the page then says."""
        try:
            return await self._reads.now()
        except UnavailableError:
            return HostClock().now()


async def _ask_to_sign_in(scope: Scope, send: Send) -> None:
    """Lead a browser to signing in; tell anybody else that there is nothing for it."""
    if not _wants_page(scope):
        raise NotFoundError(f"nothing is at {scope['path'][:200]}")
    asked = f"{scope['path']}?{scope['query_string'].decode('latin-1')}".removesuffix("?")
    back = f"?next_path={quote(asked)}" if scope["method"] in _SAFE and asked != "/" else ""
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


async def _check_origin(request: WebRequest) -> None:
    """Refuse a change that another site has sent in a browser's name. Raises ForbiddenError."""
    if request.method in _SAFE:
        return
    origin = request.headers.get("origin")
    if origin not in (None, "null") and urlsplit(origin).netloc != request.headers.get("host"):
        raise ForbiddenError("the request came from another site")
    session = request.scope.get(SESSION)
    if isinstance(session, WebSession):
        form = await request.form()
        shown = str(form.get("csrf") or request.headers.get("x-csrf-token", ""))
        if not hmac.compare_digest(shown.encode(), session.csrf.encode()):
            raise ForbiddenError("the form is of an older session; reload the page")


def _failed(request: WebRequest, error: Exception) -> Response[bytes]:
    """Answer an error with a page; that of a change with the page from which it came."""
    problem = details_of(error)
    faults = [f"{fault.where}: {fault.message}".removeprefix(": ") for fault in problem.errors]
    text = "; ".join(faults) or problem.detail or problem.title
    if request.method not in _SAFE and problem.status < 500 and SESSION in request.scope:
        return done(request, text, came_from(request), is_error=True)
    return page(request, "error.html", status_code=problem.status, problem=problem, text=text)
