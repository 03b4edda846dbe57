"""The body of an answer, kept within bounds and as it was meant."""

from __future__ import annotations

import zlib
from collections.abc import Callable

from matins.executor.masking import Mask
from matins.executor.output import HeadTail

BODY_KEPT = 64 * 1024
"""How much of an answer's body is kept, in bytes."""

BODY_READ = 1024 * 1024
"""How much of an answer's body is read, in bytes after inflating."""

_GZIP_OR_ZLIB = zlib.MAX_WBITS + 32


def _let_go(_piece: bytes) -> None:
    """Nobody listens."""


class Body:
    """Takes the bytes of a body. Only identity is asked for; gzip and deflate are read all the same
    if they come, and what falsely says that it is one of them is kept as it came.
    """

    def __init__(self, on_piece: Callable[[bytes], None] = _let_go) -> None:
        """`on_piece` gets what is read, as it comes."""
        self._kept = HeadTail(BODY_KEPT, 0)
        self._on_piece = on_piece
        self._inflating: zlib._Decompress | None = None
        self._note = ""

    @property
    def is_full(self) -> bool:
        """So much has come that no more is to be read."""
        return self._kept.total > BODY_READ

    @property
    def cut(self) -> int:
        """How many bytes came and were not kept."""
        return self._kept.cut

    def text(self, mask: Mask | None = None) -> str:
        """Return what was kept, as clean and masked text."""
        return self._kept.text(mask)

    def coded(self, codings: list[str]) -> None:
        """Say which codings the head names, in the order in which they were applied."""
        match [coding for coding in codings if coding != "identity"]:
            case []:
                pass
            case ["gzip" | "x-gzip" | "deflate"]:
                self._inflating = zlib.decompressobj(_GZIP_OR_ZLIB)
            case unknown:
                self._note = f"its body is coded as {', '.join(unknown)[:100]}: shown as it came"

    def append(self, piece: bytes) -> None:
        """Take the next bytes."""
        if self._inflating is None:
            self._take(piece)
            return
        try:
            while piece and not self.is_full:
                self._take(self._inflating.decompress(piece, BODY_READ // 4))
                piece = self._inflating.unconsumed_tail
        except zlib.error as error:
            self._inflating = None
            self._note = f"its body is not coded as it says ({error}): shown as it came"
            self._take(piece)

    def _take(self, piece: bytes) -> None:
        self._kept.append(piece)
        self._on_piece(piece)

    def close(self) -> list[str]:
        """Return the notes that there are at the end."""
        return [self._note] if self._note else []
