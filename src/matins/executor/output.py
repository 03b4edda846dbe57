"""Output of targets, kept within bounds and made fit for a database and a screen.

Here bytes become text, once; everything behind may rely on it. Imports the standard library only,
because the keeper uses it too.
"""

from __future__ import annotations

import codecs
import re

from matins.executor.masking import Mask

_ESCAPES = re.compile(
    r"\x1b(?:"
    r"\[[0-?]*[ -/]*[@-~]?"  # CSI: colours, cursor movements
    r"|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # OSC and other strings: titles, links
    r"|[ -/]*[0-~]?"  # two characters, such as the choice of a character set
    r")"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]+")
_ASCII_CONTROLS = dict.fromkeys((*range(9), *range(11, 32), 127))
_UNREADABLE = re.compile("\ufffd+")
_LINES = re.compile(r"\r\n?")
_UNFINISHED = re.compile(
    r"\r\Z|\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b\n]*\x1b?|[ -/]*)\Z",
)
_HELD_MAX = 4096
"""How much of an escape sequence without an end is held back, in characters."""

REASON_MAX = 300
"""The longest reason, in characters."""


class HeadTail:
    """The first and the last bytes of a stream of any length, in constant space."""

    def __init__(self, head_max: int = 32 * 1024, tail_max: int = 32 * 1024) -> None:
        self._head_max = head_max
        self._tail_max = tail_max
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    @property
    def total(self) -> int:
        """How many bytes came."""
        return self._total

    @property
    def cut(self) -> int:
        """How many bytes were left out between head and tail."""
        return max(self._total - self._head_max - self._tail_max, 0)

    def append(self, chunk: bytes) -> None:
        """Take the next bytes, in amortised O(1) for each."""
        self._total += len(chunk)
        room = self._head_max - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        if len(self._tail) > 2 * self._tail_max:
            self._trim()

    def text(self, mask: Mask | None = None) -> str:
        """Return what was kept, cleaned and masked; a line between head and tail says how much is
        missing.
        """
        self._trim()
        mask = mask or Mask()
        if not self.cut:
            return mask.apply(clean(bytes(self._head + self._tail)))
        head = mask.before_cut(mask.apply(clean(_without_broken_end(bytes(self._head)))))
        return head + left_out(self.cut) + self.tail(mask, self._tail_max)

    def tail(self, mask: Mask, most: int) -> str:
        """Return at most so many of the last bytes behind a cut, cleaned and masked."""
        self._trim()
        tail = bytes(self._tail[max(len(self._tail) - most, 0) :])
        return mask.after_cut(mask.apply(clean(_without_broken_start(tail))))

    def _trim(self) -> None:
        del self._tail[: max(len(self._tail) - self._tail_max, 0)]


class TextStream:
    """Makes of bytes, as they come, the text that `clean` and the mask make of all of them.

    What may go on as an escape sequence, a line end, a character or a secret is held back until
    more comes.
    """

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._unclean = ""
        self._unmasked = ""
        self._is_unreadable = False

    def feed(self, raw: bytes, *, is_end: bool = False) -> str:
        """Return the text that is finished by these bytes."""
        text = self._unclean + self._decoder.decode(raw, is_end)
        held = None if is_end else _UNFINISHED.search(text, max(len(text) - _HELD_MAX, 0))
        cut = held.start() if held else len(text)
        self._unclean = text[cut:]
        masked = self._mask.apply(self._unmasked + self._cleaned(text[:cut]))
        end = len(masked) if is_end else len(masked) - self._mask.begun(masked)
        self._unmasked = masked[end:]
        return masked[:end]

    def skip(self, count: int) -> str:
        """Leave out bytes here: return what was held back, and a line that says so."""
        text = self._mask.before_cut(self.feed(b"", is_end=True))
        self._decoder.reset()
        return text + left_out(count)

    def held(self) -> str:
        """Return what is held back, as it would be if nothing more came."""
        return self._mask.before_cut(self._unmasked + _clean_text(self._unclean))

    def _cleaned(self, text: str) -> str:
        plain = _clean_text(text)
        if self._is_unreadable:
            plain = plain.removeprefix("\ufffd")
        if plain:
            self._is_unreadable = plain.endswith("\ufffd")
        return plain


def left_out(count: int) -> str:
    """Return the line that stands for what is missing."""
    return f"\n[... {count} bytes left out ...]\n"


def clean(raw: bytes) -> str:
    """Read bytes as UTF-8 text that can be stored, sent and shown.

    Each run of bytes that can't be read becomes one U+FFFD; escape sequences and control characters
    other than line feed and tab are removed; line ends become line feeds.
    """
    return _clean_text(raw.decode("utf-8", "replace"))


def one_line(text: str, limit: int = REASON_MAX) -> str:
    """Make a short reason of any text, cleaned: one line of at most `limit` characters."""
    readable = _clean_text(text.encode("utf-8", "replace").decode("utf-8"))
    line = " ".join(readable.split())
    return line if len(line) <= limit else f"{line[: limit - 3]}..."


def _clean_text(text: str) -> str:
    plain = _ESCAPES.sub("", _LINES.sub("\n", text))
    if plain.isascii():  # ten times as fast
        return plain.translate(_ASCII_CONTROLS)
    return _UNREADABLE.sub("\ufffd", _CONTROLS.sub("", plain))


def _without_broken_end(raw: bytes) -> bytes:
    """Drop the character that the cut went through: a lead byte with too few followers."""
    for back in range(1, min(4, len(raw) + 1)):
        byte = raw[-back]
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return raw[:-back] if back < length else raw
        if byte < 0x80:
            return raw
    return raw


def _without_broken_start(raw: bytes) -> bytes:
    start = 0
    while start < min(3, len(raw)) and raw[start] & 0xC0 == 0x80:
        start += 1
    return raw[start:]
