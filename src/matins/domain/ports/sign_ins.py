"""Links by which a browser is signed in once."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class SignInLinks(Protocol):
    """The codes of links that nobody has used yet."""

    async def keep(self, code: str, principal: str) -> datetime:
        """Keep a code by which somebody is signed in; return until when it works."""

    async def use(self, code: str) -> str | None:
        """Use up a code; return whom it signs in, None where it does not work any more."""
