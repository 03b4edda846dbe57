"""The output of an attempt: what is seen of it while it runs, and what is kept of it.

Output is text here, cleaned and masked. Offsets count characters of an attempt's text from its
beginning. Live output may be lost; what is kept may not.
"""

from __future__ import annotations

from uuid import UUID

import msgspec

LIVE_MAX = 256 * 1024
"""How much live text of an attempt is held for those who begin to follow, in characters."""

CHUNK_MAX = 64 * 1024
"""The longest text of one chunk, in characters."""


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
