"""Reads server-sent events out of the bytes of an answer."""

from __future__ import annotations

from typing import NamedTuple


class ServerEvent(NamedTuple):
    """An event: its name, its data, and its id where it has one."""

    name: str
    data: bytes
    id: str


class EventReader:
    """Puts pieces together, and cuts them into events. Comments and empty events are left out."""

    def __init__(self) -> None:
        self._rest = b""
        self._name = self._id = ""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """Take the next bytes; return the events that are whole with them."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        events = (self._take(line.removesuffix(b"\r")) for line in lines)
        return [event for event in events if event is not None]

    def _take(self, line: bytes) -> ServerEvent | None:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"event":
            self._name = value.decode("utf-8", "replace")
        elif field == b"id":
            self._id = value.decode("utf-8", "replace")
        elif field == b"data":
            self._data.append(value)
        elif not line:
            event = ServerEvent(self._name, b"\n".join(self._data), self._id)
            is_event = bool(self._data)
            self._name, self._id, self._data = "", "", []
            return event if is_event else None
        return None
