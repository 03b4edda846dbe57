"""What whoever follows a run is told, in the order in which it comes."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from matins.domain.executors.protocol import RunStatus
from matins.domain.runs.output import Progress
from matins.domain.runs.states import RunState


class OutputText(msgspec.Struct, frozen=True, omit_defaults=True):
    """A piece of an attempt's output, from a number of characters on.

    An `offset` beyond the end of the piece before: what is between was not seen. `whole`: here the
    stored output begins, from its beginning, in place of all that was told of the attempt.
    """

    attempt: int
    offset: int
    text: str
    whole: bool = False

    @property
    def end(self) -> int:
        """The offset behind it."""
        return self.offset + len(self.text)


class AttemptProgress(Progress, frozen=True, omit_defaults=True, kw_only=True):
    """How far an attempt has come, as it says itself."""

    attempt: int


class OutputNotice(msgspec.Struct, frozen=True):
    """What is to be known about the output, such as that there is none before the end."""

    text: str


class RunEnd(msgspec.Struct, frozen=True, omit_defaults=True):
    """The run has ended, and nothing follows; or the attempt has, if only that was asked for.

    `exit_code` is that of the last attempt's command, if it had one.
    """

    state: RunState
    attempt: int = 0
    exit_code: int | None = None
    reason: str = ""
    finished_at: datetime | None = None


RunEvent = RunStatus | OutputText | AttemptProgress | OutputNotice | RunEnd

RUN_EVENTS: Final[dict[str, type[RunEvent]]] = {
    "state": RunStatus,
    "output": OutputText,
    "progress": AttemptProgress,
    "notice": OutputNotice,
    "end": RunEnd,
}
"""The kinds of events by the names that they have on the wire."""


class EventPlace(msgspec.Struct, frozen=True):
    """How far a reader has come: so many characters of an attempt. Written as `2:1024`."""

    attempt: int
    offset: int

    def __str__(self) -> str:
        return f"{self.attempt}:{self.offset}"


def parse_place(text: str) -> EventPlace | None:
    """Read a place; None for anything else."""
    attempt, _, offset = text.partition(":")
    if not (_is_number(attempt) and _is_number(offset)):
        return None
    return EventPlace(int(attempt), int(offset))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 16
