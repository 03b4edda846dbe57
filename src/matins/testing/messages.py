"""Cuts a connection's bytes into the messages of its protocol, so that a proxy can act on one."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from enum import StrEnum
from typing import Protocol

import msgspec


class Direction(StrEnum):
    """Which way a message goes."""

    TO_SERVER = "to server"
    TO_CLIENT = "to client"


class BodyPart(msgspec.Struct, frozen=True):
    """A message as its protocol sees it.

    PostgreSQL: `kind` is the type byte ("Q", "P", "B", "E", "C", "Z", …) or the name of a message
    that has none ("Startup", "SSLRequest", …); `text` is the SQL that it belongs to.
    HTTP: `kind` is "request" or "response", `text` the route ("POST /v1/jobs", without query).
    What can't be cut is of kind "data".
    """

    kind: str
    text: str
    payload: bytes
    """All bytes of the message."""


class Talk(Protocol):
    """What is known of one connection; cuts the bytes of both directions into messages."""

    def cut(self, direction: Direction, data: bytes) -> Iterator[BodyPart]:
        """Take bytes in; give the messages that are whole by now."""

    def rest(self, direction: Direction) -> bytes:
        """Give back what is no whole message yet, at the end of a direction."""


class RawTalk:
    """Takes bytes as they come, each read as a message."""

    def cut(self, _direction: Direction, data: bytes) -> Iterator[BodyPart]:
        """See `Talk`."""
        yield BodyPart("data", "", data)

    def rest(self, _direction: Direction) -> bytes:
        """See `Talk`."""
        return b""


class _Buffered:
    """Gathers the bytes of each direction until they make a message."""

    def __init__(self) -> None:
        self._gathered = {direction: bytearray() for direction in Direction}
        self._is_opaque = False

    def cut(self, direction: Direction, data: bytes) -> Iterator[BodyPart]:
        """See `Talk`."""
        gathered = self._gathered[direction]
        gathered += data
        while gathered:
            if (part := self._part(direction, gathered)) is None:
                return
            del gathered[: len(part.payload)]
            yield part

    def rest(self, direction: Direction) -> bytes:
        """See `Talk`."""
        return bytes(self._gathered[direction])

    def _part(self, direction: Direction, gathered: bytearray) -> BodyPart | None:
        if not self._is_opaque:
            try:
                return self._next(direction, gathered)
            except (ValueError, IndexError):  # not this protocol: a proxy lets it pass
                self._is_opaque = True
        return BodyPart("data", "", bytes(gathered))

    def _next(self, direction: Direction, gathered: bytearray) -> BodyPart | None:
        """Return the first message, if it is whole. ValueError, IndexError: this is not the
        protocol.
        """
        raise NotImplementedError


_NAMELESS = {80877102: "CancelRequest", 80877103: "SSLRequest", 80877104: "GSSENCRequest"}
"""Codes of the messages that may stand for a startup message (PostgreSQL, protocol, 55.7)."""


class PostgresTalk(_Buffered):
    """PostgreSQL's protocol, version 3. After a granted TLS request all is of kind "data"."""

    def __init__(self) -> None:
        super().__init__()
        self._has_started = False
        self._awaits_byte = False
        self._statements: dict[bytes, str] = {}
        self._portals: dict[bytes, str] = {}
        self._sql = ""

    def _next(self, direction: Direction, gathered: bytearray) -> BodyPart | None:
        if direction is Direction.TO_SERVER and not self._has_started:
            return self._opening(gathered)
        if direction is Direction.TO_CLIENT and self._awaits_byte:
            self._awaits_byte = False
            self._is_opaque = bytes(gathered[:1]) in {b"S", b"G"}
            return BodyPart("Encryption", "", bytes(gathered[:1]))
        if (payload := _sized(gathered, 1)) is None:
            return None
        kind = chr(payload[0])
        if direction is Direction.TO_SERVER:
            self._sql = self._sql_of(kind, payload[5:])
        return BodyPart(kind, self._sql, payload)

    def _opening(self, gathered: bytearray) -> BodyPart | None:
        if (payload := _sized(gathered, 0)) is None:
            return None
        kind = _NAMELESS.get(int.from_bytes(payload[4:8], "big"), "Startup")
        self._has_started = kind == "Startup"
        self._awaits_byte = kind in {"SSLRequest", "GSSENCRequest"}
        return BodyPart(kind, "", payload)

    def _sql_of(self, kind: str, body: bytes) -> str:
        """Return the SQL that a client's message belongs to; it is remembered by the names it
        is given.
        """
        names = body.split(b"\0", 2)
        match kind:
            case "Q":
                return names[0].decode(errors="replace")
            case "P":
                self._statements[names[0]] = names[1].decode(errors="replace")
                return self._statements[names[0]]
            case "B":
                self._portals[names[0]] = self._statements.get(names[1], "")
                return self._portals[names[0]]
            case "E":
                return self._portals.get(names[0], "")
            case "D" if body[:1] == b"S":
                return self._statements.get(names[0][1:], "")
        return self._sql


def _sized(gathered: bytearray, skip: int) -> bytes | None:
    """Return a message whose length stands in four bytes, that count themselves, after `skip`
    others.
    """
    if len(gathered) < skip + 4:
        return None
    length = int.from_bytes(gathered[skip : skip + 4], "big")
    if length < 4:
        raise ValueError(f"a message can't be {length} bytes long")
    return bytes(gathered[: skip + length]) if len(gathered) >= skip + length else None


class HttpTalk(_Buffered):
    """HTTP/1.1. A chunked body is passed on chunk by chunk, each of kind "data".

    An answer that ends with its connection is cut after its head. Trailers are not known.
    """

    def __init__(self) -> None:
        super().__init__()
        self._routes: deque[str] = deque()
        self._chunked: dict[Direction, str] = {}

    def _next(self, direction: Direction, gathered: bytearray) -> BodyPart | None:
        if direction in self._chunked:
            return self._chunk(direction, gathered)
        end = gathered.find(b"\r\n\r\n")
        if end < 0:
            return None
        head = bytes(gathered[:end]).decode("latin-1")
        is_answer = direction is Direction.TO_CLIENT
        size = end + 4 + (0 if is_answer and self._has_no_body(head) else _content_length(head))
        if len(gathered) < size:
            return None
        payload = bytes(gathered[:size])
        if is_answer:
            return BodyPart("response", self._answered(head), payload)
        return BodyPart("request", self._asked(head), payload)

    def _asked(self, head: str) -> str:
        method, target, _version = head.split("\r\n", 1)[0].split(" ")
        route = f"{method} {target.partition('?')[0]}"
        self._routes.append(route)
        if _is_chunked(head):
            self._chunked[Direction.TO_SERVER] = route
        return route

    def _answered(self, head: str) -> str:
        """Return the route of the request that is answered; notes how the body goes on."""
        version, status = head.split(" ", 2)[:2]
        if not version.startswith("HTTP/"):
            raise ValueError(f"no answer of HTTP: {head[:60]!r}")
        has_no_body = self._has_no_body(head)
        route = self._routes[0] if status == "100" else self._routes.popleft()
        if has_no_body:
            return route
        if _is_chunked(head):
            self._chunked[Direction.TO_CLIENT] = route
        elif "content-length:" not in head.lower():
            self._is_opaque = True
        return route

    def _has_no_body(self, head: str) -> bool:
        """Return whether the answer to the oldest request has none, whatever its length says."""
        status = head.split(" ", 2)[1]
        return self._routes[0].startswith("HEAD ") or status in {"100", "204", "304"}

    def _chunk(self, direction: Direction, gathered: bytearray) -> BodyPart | None:
        end = gathered.find(b"\r\n")
        if end < 0:
            return None
        length = int(gathered[:end].partition(b";")[0], 16)
        size = end + 2 + length + 2
        if len(gathered) < size:
            return None
        route = self._chunked[direction] if length else self._chunked.pop(direction)
        return BodyPart("data", route, bytes(gathered[:size]))


def _is_chunked(head: str) -> bool:
    return re.search(r"\r\ntransfer-encoding:[^\r]*chunked", head, re.IGNORECASE) is not None


def _content_length(head: str) -> int:
    match = re.search(r"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
    return int(match[1]) if match else 0
