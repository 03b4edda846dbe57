"""Signing in: by a token, or by a link that works once; and signing out."""

from __future__ import annotations

from urllib.parse import urlsplit

from litestar import Response, Router, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery

from matins.api.dependencies import SignIns
from matins.api.principals import Principals
from matins.domain.values.errors import UnauthorizedError
from matins.web.rendering import WebRequest, lead, page
from matins.web.sessions import COOKIE, LASTS_S, Sessions, cookie_header

KnownSessions = NamedDependency[Sessions]
KnownPrincipals = NamedDependency[Principals]


@get("/sign-in")
async def show_sign_in(request: WebRequest, next_path: FromQuery[str] = "/") -> Response[bytes]:
    """Ask for a token."""
    return page(request, "sign_in.html", next_path=_own(next_path), fault="")


@post("/sign-in")
async def sign_in(
    request: WebRequest, sessions: KnownSessions, principals: KnownPrincipals
) -> Response[bytes]:
    """Begin a session for whoever knows a token."""
    form = await request.form()
    next_path = _own(str(form.get("next_path", "/")))
    try:
        name = principals.name_of(str(form.get("token", "")).strip())
    except UnauthorizedError:
        fault = "No such token. It is the one that the command line uses, MATINS_TOKEN."
        return page(request, "sign_in.html", status_code=401, next_path=next_path, fault=fault)
    return _signed_in(request, sessions, name, next_path)


@get("/sign-in/link/{code:str}")
async def sign_in_by_link(
    request: WebRequest, sessions: KnownSessions, sign_ins: SignIns, code: FromPath[str]
) -> Response[bytes]:
    """Begin a session for whoever comes by a link first."""
    name = await sign_ins.use(code)
    if name is None or not sessions.knows(name):
        fault = "This link was used, or is too old. Make another one with: matins sign-in"
        return page(request, "sign_in.html", status_code=401, next_path="/", fault=fault)
    return _signed_in(request, sessions, name, "/")


@post("/sign-out")
async def sign_out(request: WebRequest) -> Response[bytes]:
    """Forget the session in this browser."""
    return lead("/sign-in", cookie_header(request.scope, COOKIE, "", 0))


def _signed_in(
    request: WebRequest, sessions: Sessions, name: str, next_path: str
) -> Response[bytes]:
    cookie = cookie_header(request.scope, COOKIE, sessions.begin(name), LASTS_S)
    return lead(next_path, cookie)


def _own(path: str) -> str:
    """Return a path of this site; an address of another one leads to the first page."""
    parts = urlsplit(path)
    is_own = not (parts.scheme or parts.netloc) and path.startswith("/") and "\\" not in path
    return path if is_own and not path.startswith("//") else "/"


ROUTER = Router("/", route_handlers=[show_sign_in, sign_in, sign_in_by_link, sign_out])
