"""Reads an answer as it comes: the status decides, and nothing that stands beside it can undo it.

No I/O. What can't be read, or is not to be read, becomes a note. Limits of the head are curl's.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from matins.executor.http.body import Body

HEAD_MAX = 300 * 1024
"""The longest head that is read, in bytes, interim answers included."""

_STATUS = re.compile(rb"HTTP/\d+(?:\.\d+)?[ \t]+(\d{3})(?!\d)")
_LENGTH = re.compile(r"\d{1,18}", re.ASCII)
_CHUNK = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?", re.DOTALL)
_FRAMING = frozenset({"content-length", "transfer-encoding", "content-encoding"})
_READ = frozenset({"location", "retry-after", "date"})
_BODILESS = frozenset({101, 204, 304})
_CHUNK_LINE_MAX = 16 * 1024
_NO_CHUNKS = "its body is in no readable chunks; the rest was not read"


class NotHttpError(Exception):
    """What came is no answer of HTTP/1."""


class Answer:
    """What has come of an answer so far. Fed with bytes until `is_complete`."""

    def __init__(self, method: str, body: Body | None = None) -> None:
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        """Those of its headers that are read beside its framing, by lower-case name."""
        self.notes: list[str] = []
        self.body = body or Body()
        self.is_complete = False
        self._method = method
        self._buffer = bytearray()
        self._step: Callable[[], bool] = self._read_status
        self._head_read = 0
        self._is_interim = False
        self._framing: dict[str, list[str]] = {}
        self._left = 0
        """Bytes that the body, or this chunk of it, still has."""

    def feed(self, data: bytes) -> None:
        """Take the next bytes. Raises NotHttpError."""
        self._buffer += data
        while not self.is_complete and self._step():
            pass

    def end(self) -> bool:
        """Take the end of the connection; return whether the answer was whole by then."""
        if self._step == self._read_to_the_end:
            self._complete()
        return self.is_complete

    def _complete(self, note: str = "") -> None:
        self.is_complete = True
        self.notes += [note] if note else []
        self.notes += self.body.close()

    def _line(self) -> bytes | None:
        """Take a line off the buffer, without its end; None if it has not come whole."""
        end = self._buffer.find(b"\n")
        if end < 0:
            return None
        line = bytes(self._buffer[:end]).removesuffix(b"\r")
        del self._buffer[: end + 1]
        return line

    def _head_line(self) -> bytes | None:
        before = len(self._buffer)
        line = self._line()
        if self._head_read + (before if line is None else before - len(self._buffer)) > HEAD_MAX:
            if self.status is None:
                raise NotHttpError(f"no status within {HEAD_MAX} bytes")
            self._complete(f"its head is longer than {HEAD_MAX} bytes; the rest was not read")
            return None
        self._head_read += before - len(self._buffer)
        return line

    def _read_status(self) -> bool:
        if not b"HTTP/".startswith(bytes(self._buffer[:64]).lstrip(b"\r\n")[:5]):
            raise NotHttpError(f"it begins with {bytes(self._buffer[:40])!r}")
        line = self._head_line()
        if not line:  # an empty one before the status is passed over
            return line is not None
        match = _STATUS.match(line)
        if match is None:
            raise NotHttpError(f"it begins with {line[:40]!r}")
        status = int(match[1])
        self._is_interim = 100 <= status < 200 and status != 101
        if not self._is_interim:
            self.status = status
        self._framing = {}
        self._step = self._read_headers
        return True

    def _read_headers(self) -> bool:
        line = self._head_line()
        if line is None:
            return False
        if not line:
            self._step = self._read_status
            if not self._is_interim:
                self._begin_body()
            return True
        name, colon, value = line.decode("latin-1").partition(":")
        name, value = name.strip().lower(), value.strip()
        if colon and name in _FRAMING:
            self._framing.setdefault(name, []).append(value)
        elif colon and name in _READ and not self._is_interim:
            self.headers.setdefault(name, value)
        return True

    def _begin_body(self) -> None:
        if self._method == "HEAD" or self.status in _BODILESS:
            self._complete(_surplus(len(self._buffer), "where none belongs"))
            return
        self.body.coded(_words(self._framing.get("content-encoding", [])))
        if _words(self._framing.get("transfer-encoding", []))[-1:] == ["chunked"]:
            self._step = self._read_chunk_size
        elif "transfer-encoding" not in self._framing and "content-length" in self._framing:
            self._begin_counted(_words(self._framing["content-length"]))
        else:
            self._step = self._read_to_the_end

    def _begin_counted(self, lengths_sent: list[str]) -> None:
        lengths = {int(text) for text in lengths_sent if _LENGTH.fullmatch(text)}
        if len(set(lengths_sent)) != 1 or not lengths:
            self.notes.append(
                f"its Content-Length can't be relied on: {', '.join(lengths_sent)[:100]}"
            )
        # Of several lengths the shortest: waiting for more than there is would only time out.
        self._left = min(lengths, default=len(self._buffer))
        self._step = self._read_counted

    def _read_to_the_end(self) -> bool:
        self._take(len(self._buffer))
        return False

    def _read_counted(self) -> bool:
        self._take(self._left)
        if not self._left and not self.is_complete:
            self._complete(_surplus(len(self._buffer), "after the body"))
        return False

    def _read_chunk_size(self) -> bool:
        line = self._chunk_line()
        if line is None:
            return False
        match = _CHUNK.fullmatch(line)
        if match is None:
            self._complete(_NO_CHUNKS)
            return False
        self._left = int(match[1], 16)
        self._step = self._read_chunk if self._left else self._read_trailers
        return True

    def _read_chunk(self) -> bool:
        self._take(self._left)
        if self._left:
            return False
        self._step = self._read_chunk_end
        return True

    def _read_chunk_end(self) -> bool:
        if self._chunk_line() is None:
            return False
        self._step = self._read_chunk_size
        return True

    def _chunk_line(self) -> bytes | None:
        line = self._line()
        if line is None and len(self._buffer) > _CHUNK_LINE_MAX:
            self._complete(_NO_CHUNKS)
        return line

    def _read_trailers(self) -> bool:
        """Nothing hangs on trailers, so the answer is whole once the last chunk has come."""
        self._complete()
        return False

    def _take(self, count: int) -> None:
        piece = bytes(self._buffer[:count])
        del self._buffer[: len(piece)]
        self._left -= len(piece)
        self.body.append(piece)
        if self.body.is_full:
            self._complete("the rest of the body was not read")


def _words(values: list[str]) -> list[str]:
    """Return the words of a header that is a list, in lower case."""
    return [word for value in values for part in value.split(",") if (word := part.strip().lower())]


def _surplus(count: int, where: str) -> str:
    return f"{count} bytes came {where}; they were not read" if count else ""
