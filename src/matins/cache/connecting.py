"""Connections to Valkey, from which nothing is expected for long."""

from __future__ import annotations

from typing import Final

from valkey.asyncio import Valkey
from valkey.asyncio.retry import Retry
from valkey.backoff import NoBackoff

DEADLINE_S: Final = 0.25
"""How long an answer may take."""

REST_S: Final = 1.0
"""For so long nothing is asked after an error, so that a Valkey that is away costs nothing."""

CONNECTIONS_MAX: Final = 16


def connect(url: str) -> Valkey:
    """Return a client that tries once, and connects when it is first used."""
    client: Valkey = Valkey.from_url(
        url,
        socket_timeout=DEADLINE_S,
        socket_connect_timeout=DEADLINE_S,
        retry=Retry(NoBackoff(), 0),
        max_connections=CONNECTIONS_MAX,
    )
    return client
