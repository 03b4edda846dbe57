"""Whether a PostgreSQL server that is met goes on from where the one before it was."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec


class ServerId(msgspec.Struct, frozen=True):
    """What tells one server's history from another's.

    `system` names the cluster, and `timeline` rises with each promotion in it; both are None where
    they can't be read. `started_at` is when the server started: a server that was restarted may
    stand on an older copy of its files.
    """

    system: int | None
    timeline: int | None
    started_at: datetime


class Meeting(StrEnum):
    """What a server that is met is to whoever knew one before."""

    SAME = "same"
    OTHER = "other"
    """It may lack what the one before had acknowledged: whatever was read is to be forgotten."""
    OLDER = "older"
    """The past of the one known, such as a primary that was replaced and came back."""


def meet(known: ServerId | None, server: ServerId) -> Meeting:
    """Judge a server that is met by the one that is known."""
    if known is None or server == known:
        return Meeting.SAME
    if known.timeline is None or server.timeline is None or server.system != known.system:
        return Meeting.OTHER
    return Meeting.OLDER if server.timeline < known.timeline else Meeting.OTHER


def went_back(acknowledged: datetime | None, latest: datetime | None) -> bool:
    """Return whether a row says less than was acknowledged of it: the database was put back in
    place.

    Nobody but the asker writes the row. Nothing acknowledged yet: None. No row found: None.
    """
    return acknowledged is not None and (latest is None or latest < acknowledged)
