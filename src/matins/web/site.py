"""The pages as one Litestar application, with what is checked before each and told of errors."""

from __future__ import annotations

import hmac
from typing import NamedTuple
from urllib.parse import urlsplit

from litestar import Litestar, Response
from litestar.datastructures import State
from litestar.di import Provide

from matins.api.dependencies import Dependencies
from matins.api.principals import Principals
from matins.api.problems import BODY_MAX, details_of
from matins.domain.values.errors import ForbiddenError
from matins.kernel.http import SAFE_METHODS
from matins.web import signing_in
from matins.web.errors import error_words
from matins.web.live import Live
from matins.web.pages import PAGES
from matins.web.rendering import NAVIGATION, WebRequest, came_from, done, page
from matins.web.sessions import SESSION, Sessions, WebSession


class Site(NamedTuple):
    """All pages, and the live parts of them."""

    pages: Litestar
    live: Live


def build_site(dependencies: Dependencies, principals: Principals, sessions: Sessions) -> Site:
    """Build it; takes a third of a second."""
    pages = Litestar(
        [signing_in.ROUTER, *(module.ROUTER for module in PAGES)],
        dependencies={
            **dependencies.provided(),
            "sessions": Provide(lambda: sessions, sync_to_thread=False),
            "principals": Provide(lambda: principals, sync_to_thread=False),
        },
        exception_handlers={Exception: _failed},
        before_request=_check_origin,
        request_max_body_size=BODY_MAX,
        openapi_config=None,
        state=State({NAVIGATION: [module.ITEM for module in PAGES if module.ITEM]}),
    )
    parts = [part for module in PAGES for part in module.LIVE]
    return Site(pages, Live({part.name: part for part in parts}, dependencies))


async def _check_origin(request: WebRequest) -> None:
    """Refuse a change that another site has sent in a browser's name. Raises ForbiddenError."""
    if request.method in SAFE_METHODS:
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
    if request.method not in SAFE_METHODS and problem.status < 500 and SESSION in request.scope:
        return done(request, text, came_from(request), is_error=True)
    sections = [(item.text, item.path) for item in request.app.state[NAVIGATION]]
    words = error_words(problem, text, request.scope["path"], sections)
    return page(request, "error.html", status_code=problem.status, problem=problem, words=words)
