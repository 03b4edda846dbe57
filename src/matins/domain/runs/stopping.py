"""What an owner says who wants no further attempt of a run."""

from __future__ import annotations

from typing import ClassVar

import msgspec


class StopRetrying(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why a run that waits for its next attempt is to get none."""

    EXAMPLE: ClassVar[str] = "{reason: the file is wrong}"

    reason: str = ""
