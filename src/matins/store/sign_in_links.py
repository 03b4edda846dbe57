"""Links by which a browser is signed in once. Only the hash of a code is stored."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import Final

from matins.store.database import Database
from matins.store.queries import load_queries

LASTS: Final = timedelta(minutes=15)
"""How long a link may wait to be used."""

_Q = load_queries("sign_in_links.sql")


class PostgresSignInLinks:
    """Codes of links, each of which works once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(self, code: str, principal: str) -> datetime:
        """Keep a code by which somebody is signed in; return until when it works."""
        row = await self._database.fetchrow(
            _Q["keep"], code_hash=_hash(code), principal=principal, lasts=LASTS
        )
        assert row is not None, "an insert returns its row"
        expires_at: datetime = row["expires_at"]
        return expires_at

    async def use(self, code: str) -> str | None:
        """Use up a code; return whom it signs in, None where it does not work any more."""
        row = await self._database.fetchrow(_Q["use"], code_hash=_hash(code))
        return None if row is None else str(row["principal"])


def _hash(code: str) -> bytes:
    return hashlib.sha256(code.encode()).digest()
