"""Signing browsers in by links that work once."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from random import Random
from typing import Final

from matins.domain.ports.sign_ins import SignInLinks
from matins.domain.views import SignInLink

PATH: Final = "/sign-in/link/"
"""Where the web page takes the code of a link."""

_CODE_BYTES = 24


class SignIns:
    """Makes links, and takes them."""

    def __init__(self, links: SignInLinks, rng: Random) -> None:
        """`rng` draws codes: one that nobody can guess."""
        self._links = links
        self._rng = rng

    async def make(self, principal: str) -> SignInLink:
        """Make a link that signs somebody in."""
        code = urlsafe_b64encode(self._rng.randbytes(_CODE_BYTES)).decode()
        return SignInLink(PATH + code, await self._links.keep(code, principal))

    async def use(self, code: str) -> str | None:
        """Use up a link; return whom it signs in, None where it does not work any more."""
        return await self._links.use(code)
