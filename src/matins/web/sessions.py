"""Sessions of browsers: a signed cookie says whose a request is.

Each is signed with a key made of its owner's token (itsdangerous, HMAC): a token that is changed or
taken away ends its sessions, and every API process knows them without a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from random import Random
from typing import Any, Final

import msgspec
from itsdangerous import BadData, URLSafeTimedSerializer

from matins.api.principals import Principals

COOKIE: Final = "matins_session"
LASTS_S: Final = 7 * 86_400
"""For how long a session lasts, in seconds."""

SIGN_IN: Final = "/sign-in"
"""What needs no session begins so."""

SESSION: Final = "matins.session"
NOW: Final = "matins.now"
"""Under which the session of an admitted request and the database's time stand in its scope."""

_SALT = "matins.session"


class WebSession(msgspec.Struct, frozen=True):
    """Whose a browser's requests are. `csrf` stands in each form, where no other site sees it."""

    principal: str
    csrf: str


class Sessions:
    """Makes sessions and reads them."""

    def __init__(self, principals: Principals, rng: Random) -> None:
        """`rng` draws what nobody can guess."""
        self._rng = rng
        self._signers = {
            name: URLSafeTimedSerializer(token, salt=_SALT)
            for name, token in principals.tokens.items()
        }

    def begin(self, principal: str) -> str:
        """Return the value of the cookie of a new session."""
        session = WebSession(principal, self._rng.randbytes(16).hex())
        return str(self._signers[principal].dumps(msgspec.to_builtins(session)))

    def knows(self, principal: str) -> bool:
        """Return whether there is a token of that name."""
        return principal in self._signers

    def of(self, scope: Mapping[str, Any]) -> WebSession | None:
        """Return the session of a request, None if it has none that holds."""
        value = cookie_of(scope, COOKIE)
        for name, signer in self._signers.items() if value else ():
            try:
                session = msgspec.convert(signer.loads(value, max_age=LASTS_S), WebSession)
            except (BadData, msgspec.ValidationError):
                continue
            if session.principal == name:
                return session
        return None


def cookie_of(scope: Mapping[str, Any], name: str) -> str:
    """Return the value of a cookie of a request, empty if it has none of that name."""
    for key, value in scope["headers"]:
        if key == b"cookie":
            try:
                morsel = SimpleCookie(value.decode("latin-1")).get(name)
            except CookieError:
                continue
            if morsel is not None:
                return morsel.value
    return ""


def cookie_header(scope: Mapping[str, Any], name: str, value: str, lasts_s: int) -> str:
    """Return the header that sets a cookie which no script and no other site can use."""
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    attributes = f"Path=/; Max-Age={lasts_s}; HttpOnly; SameSite=Lax{secure}"
    return f"{name}={value}; {attributes}"
