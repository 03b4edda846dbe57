"""Who calls: the name of the token that a request shows. This is the only place that decides it."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any, Final

from litestar import Request

from matins.domain.values.errors import UnauthorizedError
from matins.kernel.http import Scope

_KEY: Final = "matins.principal"


class Principals:
    """The owners' tokens by name."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        assert tokens, "nobody could get in"
        assert all(tokens.values()), "an empty token would let everybody in"
        self.tokens: Final = dict(tokens)

    def name_of(self, token: str) -> str:
        """Return whose a token is. Raises UnauthorizedError.

        All tokens are compared, so that the time it takes tells nothing of any.
        """
        shown = token.encode()
        names = [
            name
            for name, known in self.tokens.items()
            if hmac.compare_digest(shown, known.encode())
        ]
        if not names:
            raise UnauthorizedError("the owners' token is missing or wrong")
        return names[0]

    def admit(self, scope: Scope) -> None:
        """Note in a request whose it is, by its bearer token. Raises UnauthorizedError."""
        kind, _, token = _authorization(scope).decode("latin-1").partition(" ")
        note_principal(scope, self.name_of(token if kind == "Bearer" else ""))


def note_principal(scope: Scope, name: str) -> None:
    """Note in a request whose it is."""
    scope[_KEY] = name


def principal_of(request: Request[Any, Any, Any]) -> str:
    """Return whose an admitted request is."""
    name: str = request.scope[_KEY]  # type: ignore[typeddict-item] # ours
    return name


def _authorization(scope: Scope) -> bytes:
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    return next((value for key, value in headers if key == b"authorization"), b"")
