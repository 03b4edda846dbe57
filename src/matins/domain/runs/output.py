"""The output of an attempt: what is seen of it while it runs, and what is kept of it.

Output is text here, cleaned and masked. Offsets count characters of an attempt's text from its
beginning. Live output may be lost; what is kept may not.
"""

from __future__ import annotations

from typing import Literal
from uuid import UUID

import msgspec

from matins.domain.values.errors import Problem

LIVE_MAX = 256 * 1024
"""How much live text of an attempt is held for those who begin to follow, in characters."""

LINES_MAX = 10_000
"""The most lines that are asked for from the end of an output."""

CHUNK_MAX = 64 * 1024
"""The longest text of one chunk, in characters."""


BYTES_MIN = 128 * 1024
"""The least that a team can have kept of an output: head and tail are half of it."""

BYTES_MAX = 1024**3
"""The most that an operator can let teams keep of an output, in bytes."""


class TeamOutput(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What is kept of the output of a team's attempts: head and tail, or all up to so many bytes.

    Without `max_bytes` it is what the operator finds usual, and never more than the operator lets
    teams have.
    """

    keep: Literal["head_and_tail", "all"] = "head_and_tail"
    max_bytes: int | None = None

    def problems(self) -> list[Problem]:
        """Return what is wrong with it; `where` is relative to it."""
        if self.max_bytes is None:
            return []
        if self.keep != "all":
            return [Problem("max_bytes", "is only for keep: all; leave it out")]
        if BYTES_MIN <= self.max_bytes <= BYTES_MAX:
            return []
        rule = f"it must be from {BYTES_MIN} to {BYTES_MAX}"
        return [Problem("max_bytes", f"is {self.max_bytes}; {rule}")]


class OutputBounds(msgspec.Struct, frozen=True):
    """How many bytes of an output are kept for a team that keeps all: if it does not say it, and at
    most.
    """

    usual: int = 10 * 1024**2
    most: int = 100 * 1024**2

    def granted(self, asked: int | None) -> int:
        """Return how many bytes are kept. `asked`: None for head and tail alone, 0 for as usual."""
        return 0 if asked is None else min(asked or self.usual, self.most)


class Progress(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far an attempt has come, as it says itself; `total` is None where it can't tell."""

    done: float | None = None
    total: float | None = None
    text: str = ""


class LiveChunk(
    msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True
):
    """A piece of an attempt's live text, and the progress if there is news of it.

    An `offset` beyond the end of the chunk before means that something was lost. `is_last`: the
    attempt's end is recorded, and nothing follows. It may be lost as any chunk.
    """

    run_id: UUID
    number: int
    offset: int
    text: str = ""
    progress: Progress | None = None
    is_last: bool = False

    @property
    def end(self) -> int:
        """The offset behind its text."""
        return self.offset + len(self.text)


class LiveText(msgspec.Struct, frozen=True, omit_defaults=True):
    """The last part of an attempt's live text, as far as it is there.

    `offset`: of its first character; where chunks were lost in between, nothing says so but that
    `end` is not `offset` and the length together. `end`: what follows begins there.
    """

    offset: int = 0
    text: str = ""
    end: int = 0
    progress: Progress | None = None


class OutputChunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A piece of the whole output of an attempt, to be kept."""

    run_id: UUID
    number: int
    offset: int
    text: str


def joined(chunks: list[LiveChunk]) -> LiveText:
    """Put together what is there of an attempt's chunks, in the order of their offsets."""
    if not chunks:
        return LiveText()
    ordered = sorted(chunks, key=lambda chunk: chunk.offset)
    progress = next((c.progress for c in reversed(ordered) if c.progress is not None), None)
    text = "".join(chunk.text for chunk in ordered)
    return LiveText(ordered[0].offset, text, max(chunk.end for chunk in ordered), progress)


def last_lines(text: str, count: int) -> str:
    """Return the last lines of a text; the end of the last one may be missing."""
    start = len(text) - text.endswith("\n")
    for _ in range(count):
        start = text.rfind("\n", 0, start)
        if start < 0:
            return text
    return text[start + 1 :]
