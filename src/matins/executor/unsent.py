"""What an attempt has told and the gateway has not: within bounds, and honest about what is not."""

from __future__ import annotations

from uuid import UUID

from matins.domain.runs.output import CHUNK_MAX, LiveChunk, OutputChunk, Progress
from matins.executor.output import left_out

LIVE_WAITS_MAX = 32 * 1024
"""How much live text of an attempt waits at most, in characters; the newest stays."""

GATHER_S = 5.0
"""How long text that is to be kept is gathered, unless it fills a chunk."""

BEYOND_MAX = 64 * 1024
"""How much longer kept text may be than its bound: by what tells of its end."""


class UnsentLive:
    """Live text of one attempt. `quiet_until`: when it may be told, on the executor's clock."""

    def __init__(self, run_id: UUID, number: int, quiet_until: float) -> None:
        self._run_id, self._number = run_id, number
        self._quiet_until = quiet_until
        self._offset = 0
        self._text = ""
        self._dropped = 0
        self._progress: Progress | None = None
        self._has_begun = False
        self._is_over = False

    @property
    def has_begun(self) -> bool:
        """Whether anything of it was told."""
        return self._has_begun

    def add(self, text: str, progress: Progress | None) -> None:
        """Take news."""
        over = max(len(self._text) + len(text) - LIVE_WAITS_MAX, 0)
        self._text = (self._text + text)[over:]
        self._dropped += over
        self._progress = progress or self._progress

    def close(self) -> None:
        """Let the next chunk be the last."""
        self._is_over = True

    def is_due(self, now: float) -> bool:
        """Return whether there is anything to be told, and it may be."""
        return now >= self._quiet_until and bool(self._text or self._progress or self._is_over)

    def next(self) -> LiveChunk:
        """Take all that there is."""
        text = (left_out(self._dropped) if self._dropped else "") + self._text
        chunk = LiveChunk(
            run_id=self._run_id,
            number=self._number,
            offset=self._offset,
            text=text,
            progress=self._progress,
            is_last=self._is_over,
        )
        self._offset, self._text, self._dropped, self._progress = chunk.end, "", 0, None
        self._has_begun = True
        return chunk


class UnsentKept:
    """Text of one attempt that is to be kept: `most` characters, and what tells of its end."""

    def __init__(self, run_id: UUID, number: int, most: int) -> None:
        self._run_id, self._number = run_id, number
        self._most = most + BEYOND_MAX
        self._offset = 0
        self._text = ""
        self._since = 0.0
        self._dropped = 0
        self._is_over = False

    @property
    def is_done(self) -> bool:
        """Whether nothing more will come of it."""
        return self._is_over and not self._text

    @property
    def size(self) -> int:
        """How many characters wait."""
        return len(self._text)

    def add(self, text: str, now: float, room: int) -> None:
        """Take text, as far as its bound and the room for it go."""
        if not self._text:
            self._since = now
        gap = left_out(self._dropped) if self._dropped and room > 0 else ""
        fits = text[: max(min(self._most - self._offset - len(self._text), room), 0)]
        if fits:
            self._text += gap + fits
            self._dropped = 0
        self._dropped += len(text) - len(fits)

    def close(self, *, is_whole_elsewhere: bool) -> None:
        """Let the rest be told, unless nothing was told and the attempt's result holds it all."""
        self._is_over = True
        if is_whole_elsewhere and not self._offset:
            self._text, self._dropped = "", 0
        elif self._dropped:
            self._text += left_out(self._dropped)
            self._dropped = 0

    def is_due(self, now: float) -> bool:
        """Return whether it should be told now."""
        return bool(self._text) and (
            self._is_over or len(self._text) >= CHUNK_MAX or now >= self._since + GATHER_S
        )

    def next(self) -> OutputChunk:
        """Take a chunk."""
        text, self._text = self._text[:CHUNK_MAX], self._text[CHUNK_MAX:]
        chunk = OutputChunk(
            run_id=self._run_id, number=self._number, offset=self._offset, text=text
        )
        self._offset += len(text)
        return chunk
