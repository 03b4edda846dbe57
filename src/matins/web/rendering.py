"""Templates, and what every page has: navigation, the session, and what was just done."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from litestar import Request, Response

from matins.web import wording
from matins.web.assets import asset_url
from matins.web.sessions import NOW, SESSION, cookie_header, cookie_of

NAVIGATION: Final = "navigation"
"""Under which the items of the navigation stand in the application's state."""

FLASH: Final = "matins_flash"
_FLASH_S = 60
_FLASH_MAX = 1000
_HTML = "text/html"

WebRequest = Request[Any, Any, Any]


class NavigationItem(NamedTuple):
    """A line of the navigation: its text, its address, and the key that leads there after `g`."""

    text: str
    path: str
    key: str


class AddressQuery(dict[str, Any]):
    """What an address asks for, by name; what it does not name is empty."""

    def __missing__(self, name: str) -> str:
        return ""


class Flash(NamedTuple):
    """What was just done, or why not; the next page tells it."""

    text: str
    is_error: bool = False


def render(name: str, now: datetime, **context: object) -> str:
    """Return a template filled in: a part of a page. `now` is the database's time."""
    return _environment().get_template(name).render(now=now, **context)


def page(
    request: WebRequest, name: str, *, status_code: int = 200, **context: object
) -> Response[bytes]:
    """Answer with a page. `name` is its template, below `pages/`."""
    scope: Mapping[str, Any] = request.scope
    flash = _flash_of(cookie_of(scope, FLASH))
    text = render(
        f"pages/{name}",
        scope[NOW],
        session=scope.get(SESSION),
        navigation=request.app.state[NAVIGATION],
        path=scope["path"],
        query=AddressQuery(
            {name: values[-1] for name, values in request.query_params.dict().items()}
        ),
        flash=flash,
        **context,
    )
    headers = {"cache-control": "no-store"}
    if flash is not None:
        headers["set-cookie"] = cookie_header(scope, FLASH, "", 0)
    return Response(text.encode(), status_code=status_code, media_type=_HTML, headers=headers)


def now_of(request: WebRequest) -> datetime:
    """Return the database's time at which a request came."""
    scope: Mapping[str, Any] = request.scope
    now: datetime = scope[NOW]
    return now


def fragment(request: WebRequest, name: str, **context: object) -> Response[bytes]:
    """Answer with a piece of a page, which htmx puts in place."""
    scope: Mapping[str, Any] = request.scope
    text = render(f"parts/{name}", scope[NOW], session=scope.get(SESSION), **context)
    headers = {"cache-control": "no-store"}
    return Response(text.encode(), media_type=_HTML, headers=headers)


def done(request: WebRequest, text: str, path: str, *, is_error: bool = False) -> Response[bytes]:
    """Lead to a page, which tells what was done."""
    value = quote(json.dumps([text[:_FLASH_MAX], is_error]))
    return lead(path, cookie_header(request.scope, FLASH, value, _FLASH_S))


def lead(path: str, cookie: str = "") -> Response[bytes]:
    """Lead to another page of this site."""
    headers = {"location": path, "cache-control": "no-store"}
    if cookie:
        headers["set-cookie"] = cookie
    return Response(b"", status_code=303, media_type=_HTML, headers=headers)


def came_from(request: WebRequest) -> str:
    """Return the page of this site from which a request came, the first one if that is unknown."""
    parts = urlsplit(request.headers.get("referer", ""))
    if parts.netloc != request.headers.get("host"):
        return "/"
    return f"{parts.path}?{parts.query}".removesuffix("?")


def _flash_of(value: str) -> Flash | None:
    try:
        text, is_error = json.loads(unquote(value))
    except ValueError:
        return None
    return Flash(str(text), bool(is_error))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("matins.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.do"],
    )
    environment.globals["asset"] = asset_url
    environment.filters.update(wording.FILTERS)
    return environment
